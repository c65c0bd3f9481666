"""The 319 training jobs of the Kalos cluster (InternLM/AcmeTrace, CC-BY-4.0) as a trace."""

from __future__ import annotations

from kantopt.errors import BadDataError, Problem
from kantopt.formats.notes import Notes
from kantopt.formats.traces.rows import MOST_SECONDS, Row, check_columns, rows_of, trace_of
from kantopt.schema.gangs import pods_of
from kantopt.schema.jobs import PodSet
from kantopt.schema.trace import Trace, TraceJob

_COLUMNS = (
    "job_id",
    "arrival_time",
    "num_iteration",
    "iteration_computing_time",
    "gpu_workers",
    "ps",
    "gpu_per_worker",
)
_NOTES = (
    "Kalos jobs of InternLM/AcmeTrace, CC-BY-4.0",
    "duration: iterations x computing time of one; the time of its networking is left out",
    "CPUs are left out: the file has 120 for most workers of one GPU and 15 for most of eight",
    "unknown: estimates (taken to be exact), users, priorities",
)


def read_kalos(text: str, *, file: str) -> Trace:
    """Read the jobs; every worker is a pod, and a job needs all of its own at once.

    Raises
    ------
    BadDataError
        With file, line and column of all that is wrong.
    """
    check_columns(file, text, _COLUMNS, "the jobs of Kalos")
    problems: list[Problem] = []
    notes = Notes()
    jobs: dict[str, tuple[int, TraceJob]] = {}
    for row in rows_of(file, text, problems):
        arrival, name = row.seconds("arrival_time"), f"job-{row.number('job_id')}"
        duration = row.number("num_iteration") * row.decimal("iteration_computing_time")
        if not 0 < duration < MOST_SECONDS:
            row.report("num_iteration", "more than no time, and less than 10^9 seconds")
            continue
        if arrival % 1 or duration % 1:
            notes.add("jobs whose times are rounded to seconds", name)
        job = TraceJob(
            name=name,
            arrival=f"{round(arrival)}s",
            duration=f"{max(1, round(duration))}s",
            pod_sets=_pods(row, notes),
        )
        if jobs.setdefault(name, (round(arrival), job))[1] is not job:
            row.report("job_id", "each job once")
    if problems:
        raise BadDataError(problems)
    return trace_of("kalos", _NOTES, notes, jobs.values())


def _pods(row: Row, notes: Notes) -> tuple[PodSet, ...]:
    workers, gpus = row.number("gpu_workers", 10**6), row.decimal("gpu_per_worker")
    if row.number("ps"):
        notes.add("jobs whose parameter servers are left out", f"job-{row.text('job_id')}")
    if not workers:
        row.report("gpu_workers", "at least one worker")
    if not gpus or gpus % 1:
        row.report("gpu_per_worker", "whole GPUs, at least one")
    return (pods_of("worker", max(workers, 1), int(gpus)),)
