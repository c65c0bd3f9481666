"""What documents say that is allowed and hardly meant: told, for silence would be consent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kantopt.schema.hints import unoffered
from kantopt.schema.jobs import Job, JobList, PodSet
from kantopt.schema.quantity import is_bytes, parse_quantity
from kantopt.schema.snapshot import ClusterSnapshot

LEAST_BYTES = 2**20
"""Less memory than this nobody means: a unit is missing."""

_UNKNOWN = "is not among those of the snapshot"
_NONE = "is unknown, for the snapshot lists none"
_Found = dict[str, list[str]]
"""By what is doubtful, the jobs that say it."""


def doubts(snapshot: ClusterSnapshot, lists: Sequence[JobList], *, imported: bool) -> Iterator[str]:
    """Name what is unknown, in the wrong place or without a unit; one line for each.

    Of a snapshot that was ``imported`` only what others ask of it: an import has told its own.
    """
    jobs = [job for listed in lists for job in listed.jobs]
    jobs = jobs if imported else [*snapshot.jobs, *jobs]
    if not (snapshot.nodes or imported):
        yield "the snapshot has no nodes"
    queues = {queue.name for queue in snapshot.queues}
    for queue, who in _by((job.queue_name, job) for job in jobs if job.queue_name).items():
        if queue not in queues:
            none = _UNKNOWN if queues else _NONE
            yield f"queue {queue} of {_listed(who)} {none}: it has no quota"
    classes = {each.name for each in snapshot.priority_classes}
    named = [(job.priority_class_name, job) for job in jobs if job.priority is None]
    for name, who in _by((name, job) for name, job in named if name).items():
        if name not in classes:
            none = _UNKNOWN if classes else _NONE
            yield f"priority class {name} of {_listed(who)} {none}: it counts as none"
    yield from _resources_of_no_node(snapshot, jobs)
    running = [job for listed in lists for job in listed.jobs if _runs(job)]
    if running:
        names = [f"{job.namespace}/{job.name}" for job in running]
        yield (
            f"assignments of {_listed(names)} stand in a JobList, which is for pending jobs: "
            "their pods count as running"
        )
    yield from _without_unit(None if imported else snapshot, jobs)


def _resources_of_no_node(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Iterator[str]:
    if not snapshot.nodes:
        return
    offered = {name for node in snapshot.nodes for name in node.allocatable}
    offered |= {name for node in snapshot.nodes for d in node.devices for name in d.capacity}
    asked = (
        (name, job)
        for job in jobs
        for podset in job.pod_sets
        for name, value in _amounts(podset)
        if name not in offered and name != "pods" and parse_quantity(value)
    )
    for name, who in _by(asked).items():
        asks = "asks" if len(who) == 1 else "ask"
        yield f"{_listed(who)} {asks} for {unoffered(name, offered)}"


def _without_unit(snapshot: ClusterSnapshot | None, jobs: Sequence[Job]) -> Iterator[str]:
    found: _Found = {}
    for subject, amounts in _all_amounts(snapshot, jobs):
        for name, value in amounts:
            if is_bytes(name) and 0 < parse_quantity(value) < LEAST_BYTES:
                found.setdefault(f"{name}: {value}", []).append(subject)
    for text, who in found.items():
        value = text.rpartition(" ")[2]
        meant = f", perhaps {value}Gi is meant" if value.isdecimal() else ""
        yield f"{text} of {_listed(who)} is {value} without a unit for bytes{meant}"


def _all_amounts(
    snapshot: ClusterSnapshot | None, jobs: Sequence[Job]
) -> Iterator[tuple[str, Iterable[tuple[str, str | int]]]]:
    for node in snapshot.nodes if snapshot else ():
        devices = ((name, v) for d in node.devices for name, v in d.capacity.items())
        yield f"node {node.name}", [*node.allocatable.items(), *devices]
    for queue in snapshot.queues if snapshot else ():
        yield f"queue {queue.name}", [(row.name, row.nominal_quota) for row in queue.resources]
    for job in jobs:
        amounts = [pair for podset in job.pod_sets for pair in _amounts(podset)]
        yield f"{job.namespace}/{job.name}", dict.fromkeys(amounts)


def _amounts(podset: PodSet) -> Iterator[tuple[str, str | int]]:
    parts: Iterable[Mapping[str, str | int]] = (
        podset.requests,
        *(need.requests for need in podset.devices),
    )
    for part in parts:
        yield from part.items()


def _runs(job: Job) -> bool:
    return any(podset.assignments for podset in job.pod_sets)


def _by(pairs: Iterable[tuple[str, Job]]) -> _Found:
    found: _Found = {}
    for what, job in pairs:
        name = f"{job.namespace}/{job.name}"
        who = found.setdefault(what, [])
        if not who or who[-1] != name:
            who.append(name)
    return found


def _listed(names: Sequence[str]) -> str:
    more = len(names) - 1
    return names[0] + (f" and {more} more" if more else "")
