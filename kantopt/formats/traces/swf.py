"""The Standard Workload Format of the Parallel Workloads Archive, version 2.2.

As defined by Feitelson et al., https://www.cs.huji.ac.il/labs/parallel/workload/swf.html: a job a
line, 18 numbers, -1 for what is unknown; comments begin with a semicolon and tell of the machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kantopt.errors import BadDataError, Problem
from kantopt.formats.imported import cluster_of
from kantopt.formats.notes import Notes
from kantopt.formats.traces.rows import MOST_SECONDS, trace_of
from kantopt.schema.gangs import pods_of
from kantopt.schema.hints import quote
from kantopt.schema.snapshot import ClusterSnapshot, Node
from kantopt.schema.trace import Trace, TraceJob

_FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
_MAY_BE_FRACTIONS = {1, 2, 3, 5, 6, 8, 9, 17}
"""Fields that need not be whole: times, and averages over processors."""
_HEADER = re.compile(r"\s*;\s*(MaxProcs|MaxNodes)\s*:\s*(.*)")
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_DECIMAL = re.compile(r"-?\d+(\.\d*)?", re.ASCII)
_FAILED, _CANCELLED, _PARTIAL = 0, 5, {2, 3, 4}
_MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class _Line:
    """The fields of one job that are used."""

    number: int
    submit: float
    run: float
    allocated: int
    requested: int
    estimate: float
    memory: float
    status: int
    user: int
    queue: int
    partition: int
    before: int


def read_swf(
    text: str, *, file: str, name: str, processor: str = "cpu"
) -> tuple[ClusterSnapshot | None, Trace]:
    """Read a log as a trace, and the machine of its header as one node.

    Processors are counted, as in the log: the machine is one node of ``MaxProcs`` of them (of
    ``MaxNodes`` if that is all the header has), and a job one pod of as many as it asked for. A job
    then has room exactly when so many processors are free.

    Parameters
    ----------
    text, file
        The log and the name of its file.
    name
        What the documents are called.
    processor
        Resource that a processor is.

    Returns
    -------
    snapshot, trace
        No snapshot if the header has neither of the two.

    Raises
    ------
    BadDataError
        With file, line and field of what is wrong; reading stops after twenty.
    """
    problems: list[Problem] = []
    machine: dict[str, int] = {}
    notes = Notes()
    found: list[tuple[int, TraceJob]] = []
    partitions: set[int] = set()
    names: set[int] = set()
    for i, line in enumerate(text.splitlines(), 1):
        if len(problems) >= _MOST_PROBLEMS:
            problems.append(Problem(file, f"line {i}", "more lines", "none so wrong: not read on"))
            break
        if not line.strip():
            continue
        if line.lstrip().startswith(";"):
            _read_header(line, file, i, machine, problems)
            continue
        read = _read(line, file, i, problems)
        if read is None:
            continue
        job = _job(read, processor, notes)
        if job is None:
            continue
        if read.number in names:
            problems.append(Problem(file, f"line {i}.{_FIELDS[0]}", str(read.number), "each once"))
        names.add(read.number)
        partitions.add(read.partition)
        found.append((round(read.submit), job))
    if problems:
        raise BadDataError(problems)
    size = machine.get("MaxProcs") or machine.get("MaxNodes")
    if sorted(times := [arrival for arrival, _ in found]) != times:
        notes.add("logs that are not in order of submit time are put into it")
        found.sort(key=lambda pair: pair[0])
    for _, job in found:
        if size and int(job.pod_sets[0].requests[processor]) > size:
            notes.add(f"jobs larger than the machine of {size} processors never start", job.name)
    if len(partitions) > 1:
        notes.add("partitions are not kept apart: jobs may use all processors", "", len(partitions))
    trace = trace_of(name, _said(machine, processor), notes, found)
    machines = [Node(name="machine", allocatable={processor: size})] if size else []
    return cluster_of(name, machines)[0] if machines else None, trace


def _said(machine: dict[str, int], processor: str) -> tuple[str, ...]:
    start = f"Standard Workload Format 2.2; a processor is a unit of {processor}, a job one pod"
    if not machine:
        return (f"{start}; its header has no MaxProcs and no MaxNodes: no machine is written",)
    if "MaxProcs" in machine:
        nodes = machine.get("MaxNodes")
        beside = f", whatever the {nodes} nodes that the log tells of" if nodes else ""
        return (f"{start} on one node of all processors (MaxProcs){beside}",)
    return (f"{start} on one node; processors are the log's nodes (MaxNodes): it has no MaxProcs",)


def _read_header(
    line: str, file: str, i: int, machine: dict[str, int], problems: list[Problem]
) -> None:
    match = _HEADER.match(line)
    if match is None:
        return
    # What follows in parentheses are the partitions; -1 is unknown, here as everywhere.
    number = re.match(r"(-1|\d{1,9})(?!\w)", match[2])
    if number is None:
        place = f"line {i}.{match[1]}"
        problems.append(Problem(file, place, quote(match[2].strip()), "a whole number"))
    elif int(number[1]) > 0:
        machine[match[1]] = int(number[1])


def _read(line: str, file: str, i: int, problems: list[Problem]) -> _Line | None:
    words = line.split()
    if len(words) != len(_FIELDS):
        expected = f"the {len(_FIELDS)} of the Standard Workload Format"
        problems.append(Problem(file, f"line {i}", f"{len(words)} fields", expected))
        return None
    values: list[float] = []
    for k, word in enumerate(words):
        form = _DECIMAL if k in _MAY_BE_FRACTIONS else _WHOLE
        value = float(word) if form.fullmatch(word) else -2.0
        if not -1 <= value <= MOST_SECONDS or (k == 0 and value < 0):
            expected = "a number" if k in _MAY_BE_FRACTIONS else "a whole number"
            least = "that is not negative" if k == 0 else "from -1 (unknown) on, below 10^9"
            place = f"line {i}.{_FIELDS[k]}"
            problems.append(Problem(file, place, quote(word), f"{expected} {least}"))
            return None
        values.append(value)
    return _Line(
        number=int(values[0]),
        submit=values[1],
        run=values[3],
        allocated=int(values[4]),
        requested=int(values[7]),
        estimate=values[8],
        memory=values[9],
        status=int(values[10]),
        user=int(values[11]),
        queue=int(values[14]),
        partition=int(values[15]),
        before=int(values[16]),
    )


def _job(line: _Line, processor: str, notes: Notes) -> TraceJob | None:
    """Make a job of a line, or say why it is none."""
    name = f"job-{line.number}"
    processors = line.requested if line.requested > 0 else line.allocated
    left_out = ""
    if line.status in _PARTIAL:
        left_out = "lines of parts of a run (status 2 to 4) beside the line of the whole job"
    elif line.status == _CANCELLED and line.run <= 0:
        left_out = "jobs cancelled before they ran"
    elif line.run < 0:
        left_out = "jobs of unknown run time"
    elif processors <= 0:
        left_out = "jobs of an unknown number of processors"
    elif line.submit < 0:
        left_out = "jobs of unknown submit time"
    if left_out:
        notes.add(f"{left_out} are left out", name)
        return None
    estimate = line.estimate > 0
    for applies, said in (
        (line.status == _FAILED, "jobs that failed run as long as they did"),
        (line.status == _CANCELLED, "jobs cancelled while they ran run as long as they did"),
        (line.run < 0.5, "jobs that ran for less than half a second run for 1s"),
        (line.submit % 1 or line.run % 1, "jobs whose times are rounded to seconds"),
        (
            0 < line.allocated != line.requested > 0,
            "jobs that got another number of processors than they asked for have what they asked "
            "for",
        ),
        (
            line.requested <= 0,
            "jobs that do not say how many processors they asked for have what they got",
        ),
        (not estimate, "jobs without a requested time are taken to ask for their run time"),
        (estimate and line.run > line.estimate, "jobs that ran longer than they asked for"),
        (line.memory > 0, "jobs whose requested memory is left out"),
        (line.user < 0, "jobs of unknown users"),
        (line.before > 0, "jobs that follow another come at their submit time all the same"),
    ):
        if applies:
            notes.add(said, name)
    return TraceJob(
        name=name,
        arrival=f"{round(line.submit)}s",
        duration=f"{max(1, round(line.run))}s",
        estimate=f"{max(1, round(line.estimate))}s" if estimate else None,
        user=f"user-{line.user}" if line.user >= 0 else "",
        queue_name=f"queue-{line.queue}" if line.queue >= 0 else "",
        pod_sets=(pods_of("main", 1, processors, processor),),
    )
