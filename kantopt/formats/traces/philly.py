"""Jobs of Microsoft's Philly clusters (CC-BY-4.0), one line each, as a trace."""

from __future__ import annotations

from datetime import datetime

from kantopt.errors import BadDataError, Problem
from kantopt.formats.notes import Notes
from kantopt.formats.traces.rows import Row, check_columns, rows_of, trace_of
from kantopt.schema.gangs import gang_of
from kantopt.schema.trace import Trace, TraceJob

_COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")


def read_philly(text: str, *, file: str, gpus_per_node: int = 8) -> Trace:
    """Read the jobs; virtual clusters become queues.

    The file says how many GPUs a job had, not on how many nodes: one pod takes what a node has, and
    one more the rest.

    Parameters
    ----------
    text, file
        The CSV file and its name.
    gpus_per_node
        Most GPUs of one pod.

    Raises
    ------
    BadDataError
        With file, line and column of all that is wrong.
    """
    check_columns(file, text, _COLUMNS, "the jobs of Philly")
    problems: list[Problem] = []
    notes = Notes()
    read = [(_moment(row), row) for row in rows_of(file, text, problems)]
    if problems:
        raise BadDataError(problems)
    # Lines that come at one time stay in their order.
    read.sort(key=lambda pair: pair[0])
    start = read[0][0] if read else datetime.min
    jobs = []
    for moment, row in read:
        gpus, seconds = row.number("num_gpus", 10**6), row.seconds("duration")
        if not gpus:
            row.report("num_gpus", "at least one GPU")
        name = f"job-{row.line - 1}"
        if seconds % 1 or not seconds:
            notes.add("jobs whose duration is rounded to seconds, and up to one", name)
        if abs(row.decimal("gpu_time") - gpus * seconds) > 0.5:
            notes.add("jobs whose GPU time is not their GPUs x duration, which is used", name)
        if gpus > gpus_per_node:
            notes.add(f"jobs of more than {gpus_per_node} GPUs are split into pods", name)
        arrival = int((moment - start).total_seconds())
        job = TraceJob(
            name=name,
            arrival=f"{arrival}s",
            duration=f"{max(1, round(seconds))}s",
            queue_name=row.name("cluster"),
            pod_sets=gang_of(max(gpus, 1), gpus_per_node),
        )
        jobs.append((arrival, job))
    if problems:
        raise BadDataError(problems)
    said = (
        "Philly jobs of Microsoft, CC-BY-4.0; a job is named by its line after the header",
        f"time 0 is {start:%Y-%m-%d %H:%M:%S}, in the file's time zone, which it does not name; "
        "an hour that the clock was put back would be seen twice",
        "unknown: estimates (taken to be exact), users, priorities, pods, CPUs and memory",
        "queues are virtual clusters, whose quotas the file does not give",
    )
    return trace_of("philly", said, notes, jobs)


def _moment(row: Row) -> datetime:
    try:
        moment = datetime.fromisoformat(row.text("timestamp"))
    except ValueError:
        moment = datetime.min.replace(tzinfo=None)
    if moment.tzinfo is not None or moment == datetime.min:
        row.report("timestamp", "a date and a time such as 2017-10-09 07:01:55")
        return datetime.min
    return moment
