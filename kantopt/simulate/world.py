"""What a simulation is about: one instance of all jobs there ever are, and when they come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kantopt.problem.ages import Ages
from kantopt.problem.build import build_instance
from kantopt.problem.chosen import considered
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.not_modelled import why_not_placed
from kantopt.problem.placement import Placement
from kantopt.schema import jobs as docs
from kantopt.schema.duration import duration_seconds, duration_text
from kantopt.schema.features import FEATURES
from kantopt.schema.model import Model
from kantopt.schema.replicas import replica, spans_of
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.trace import Trace, TraceJob
from kantopt.simulate.history import JobRecord

SECOND = 1000
"""Milliseconds."""


@dataclass(frozen=True, slots=True)
class Task:
    """A job of the instance over time; milliseconds since the start of the trace."""

    record: int | None
    """Index in :attr:`History.jobs`; ``None`` for jobs of the snapshot."""
    arrival: int
    duration: int | None
    """``None``: it runs until it is told to end."""
    estimate: int | None
    user: str
    checkpoint: int | None
    """Time of work from one checkpoint to the next; ``None``: nothing is saved."""
    gpus: int
    """Of all its pods, milli-GPU."""
    least_gpus: int
    """Of the pods without which it does not start."""
    ran: int | None = 0
    """How long it had run before the trace, 0 if it had not; ``None``: nobody knows."""


@dataclass(frozen=True, eq=False)
class World:
    """A cluster and a trace, frozen; tasks have the numbers of the instance's jobs.

    All pods are pending pods of the instance, those of the snapshot as well; ``start`` says where
    these are. So one that is stopped waits as any other does.
    """

    trace: str
    snapshot: ClusterSnapshot
    """The cluster at the start, without its jobs."""
    model: Model
    """Whose rules and zone hold."""
    instance: Instance
    start: Placement
    tasks: tuple[Task, ...]
    jobs: tuple[docs.Job, ...]
    """Documents, by number, without places."""
    records: tuple[JobRecord, ...]
    """Of all jobs of the trace, replicas each by itself, in its order, as they are before anything
    has happened."""
    outages: tuple[tuple[int, int, int], ...]
    """Node, when it fails, and when it is repaired; those of one node apart from each other."""
    endings: tuple[tuple[int, int], ...]
    """Job that is told to end, of the snapshot or a replica of the trace, and when."""


def build_world(
    snapshot: ClusterSnapshot,
    pending: Sequence[docs.Job],
    trace: Trace,
    model: Model,
    *,
    name: str,
    source: str = "",
) -> World:
    """Freeze a cluster and a trace under the rules of a model.

    Parameters
    ----------
    snapshot, pending
        The cluster at the start, and jobs that wait there; these come before the trace's and run
        until the end.
    trace
        Checked against the snapshot before.
    model
        Rules and zone, with ``extends`` resolved.
    name
        What the trace is called.
    source
        File to name in errors.

    Raises
    ------
    BadDataError
        If the documents contradict each other.
    """
    assumed = model.assume
    ages = Ages(snapshot, model)
    first = _as_they_came(considered((*snapshot.jobs, *pending), model.pending, assumed), ages)
    coming = [each for job in trace.jobs for each in _over_time(job)]
    why = [why_not_placed(job, assumed) for job, _ in coming]
    known = [job for (job, _), reason in zip(coming, why, strict=True) if not reason]
    plain = tuple(_plain(job) for job in (*first, *known))
    # What is not modelled has been left aside above, seen as the running pods that it is.
    rules = model.model_copy(
        update={"assume": FEATURES, "pending": None, "required": (), "drain": ()}
    )
    instance = build_instance(
        snapshot.model_copy(update={"jobs": plain[: len(first)]}),
        plain[len(first) :],
        rules,
        source=source,
    )
    numbers = {job.name: job.index for job in instance.jobs}
    indices = [
        None if reason else numbers[job.full_name]
        for (job, _), reason in zip(coming, why, strict=True)
    ]
    tasks = [
        Task(None, 0, None, None, "", None, *_gpus(instance, j), _ran(job, ages))
        for j, job in enumerate(first)
    ]
    records = []
    endings = _endings(numbers, trace)
    for i, ((job, leaves), j, reason) in enumerate(zip(coming, indices, why, strict=True)):
        arrival, duration = _ms(job.arrival), _ms(job.duration)
        estimate = duration if job.estimate is None else _ms(job.estimate)
        records.append(
            JobRecord(
                name=job.full_name,
                user=job.user,
                queue=job.queue_name,
                priority=0 if j is None else instance.jobs[j].priority,
                pods=sum(podset.count for podset in job.pod_sets),
                gpus=0 if j is None else _gpus(instance, j)[0],
                arrival=arrival,
                duration=duration,
                estimate=estimate,
                refused=reason,
            )
        )
        if j is not None:
            saves = None if job.checkpoint_interval is None else _ms(job.checkpoint_interval)
            tasks.append(
                Task(i, arrival, duration, estimate, job.user, saves or None, *_gpus(instance, j))
            )
            if leaves is not None:
                endings.append((j, leaves * SECOND))
    return World(
        trace=name,
        snapshot=snapshot.model_copy(update={"jobs": ()}),
        model=model,
        instance=instance,
        start=_start(instance, first),
        tasks=tuple(tasks),
        jobs=plain,
        records=tuple(records),
        outages=_outages(instance, trace),
        endings=tuple(endings),
    )


def _as_they_came(jobs: Iterable[docs.Job], ages: Ages) -> list[docs.Job]:
    """Sort jobs of before the trace by when they were submitted; who does not say is the newest."""
    known = [(ages.created(job), job) for job in jobs]
    known.sort(key=lambda pair: (pair[0] is None, pair[0] or 0))
    return [job for _, job in known]


def _ran(job: docs.Job, ages: Ages) -> int | None:
    if not any(podset.assignments for podset in job.pod_sets):
        return 0
    ran = ages.all_ran(job)
    return None if ran is None else ran * SECOND


def _ms(text: str) -> int:
    return duration_seconds(text) * SECOND


def _plain(job: docs.Job) -> docs.Job:
    """Return a job none of whose pods has a place, as a job list has it.

    It holds no quota yet: that would be for all of the time, before it comes and after its end.
    """
    podsets = tuple(
        podset.model_copy(update={"assignments": ()}) if podset.assignments else podset
        for podset in job.pod_sets
    )
    given = sorted(job.model_fields_set & docs.Job.model_fields.keys())
    values = {name: getattr(job, name) for name in given}
    values |= {"pod_sets": podsets, "quota_reserved": False}
    return docs.Job.model_construct(**values)


def _gpus(instance: Instance, j: int) -> tuple[int, int]:
    """Milli-GPU of all pods of a job, and of those without which it does not start."""
    job = instance.jobs[j]
    each = [instance.podsets[role.podsets[0]].gpu_milli for role in job.roles]
    whole = sum(gpus * role.count for gpus, role in zip(each, job.roles, strict=True))
    return whole, _least_asked(job, each)


def least_demand(instance: Instance, j: int) -> list[int]:
    """Return what the pods without which a job does not start ask for at least, by resource."""
    job = instance.jobs[j]
    demands = (instance.podsets[role.podsets[0]].demand for role in job.roles)
    return [_least_asked(job, each) for each in zip(*demands, strict=True)]


def _least_asked(job: Job, each: Sequence[int]) -> int:
    """Return the least that the pods without which a job does not start ask for together.

    ``each`` is what a pod of each role asks for. Of a job that is no gang it is one pod.
    """
    least = sum(amount * role.min_count for amount, role in zip(each, job.roles, strict=True))
    short = max(1, job.min_count) - sum(role.min_count for role in job.roles)
    for amount, role in sorted(zip(each, job.roles, strict=True), key=lambda pair: pair[0]):
        more = max(0, min(short, role.count - role.min_count))
        least, short = least + more * amount, short - more
    return least


def _start(instance: Instance, jobs: Sequence[docs.Job]) -> Placement:
    placed: dict[int, dict[Spot, int]] = {}
    for j, job in enumerate(jobs):
        for role, podset in enumerate(job.pod_sets):
            for place in podset.assignments:
                spots = placed.setdefault(instance.jobs[j].roles[role].podsets[0], {})
                spot = Spot(instance.node_index[place.node], tuple(sorted(place.devices)))
                spots[spot] = spots.get(spot, 0) + place.count
    return instance.nowhere.replace(placed)


def _outages(instance: Instance, trace: Trace) -> tuple[tuple[int, int, int], ...]:
    """Outages by time; those of one node that meet or overlap are one."""
    by_node: dict[int, list[tuple[int, int]]] = {}
    for outage in trace.outages:
        at = _ms(outage.at)
        by_node.setdefault(instance.node_index[outage.node], []).append(
            (at, at + _ms(outage.lasts))
        )
    found = []
    for n, spans in sorted(by_node.items()):
        merged: list[tuple[int, int]] = []
        for begin, end in sorted(spans):
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            elif begin < end:
                merged.append((begin, end))
        found += [(n, begin, end) for begin, end in merged]
    return tuple(sorted(found, key=lambda each: (each[1], each[0])))


def _endings(numbers: Mapping[str, int], trace: Trace) -> list[tuple[int, int]]:
    bare: dict[str, int] = {}
    for name, j in numbers.items():
        bare.setdefault(name.split("/", 1)[1], j)
    found = [
        (numbers.get(ending.job, bare.get(ending.job)), _ms(ending.after))
        for ending in trace.endings
    ]
    return [(j, at) for j, at in found if j is not None]


def _over_time(job: TraceJob) -> list[tuple[TraceJob, int | None]]:
    """Return the jobs that a job of a trace stands for, in order of coming, and when each leaves.

    Moments are in seconds since the start of the trace; ``None``: it leaves once it is done. Its
    duration and estimate are those of the job: nobody knows beforehand when the load will fall.
    """
    if job.replicas is None:
        return [(job, None)]
    arrival, found = duration_seconds(job.arrival), []
    for number, (begin, end) in enumerate(spans_of(job)):
        update = {"arrival": duration_text(arrival + begin), "scale": ()}
        leaves = None if end is None else arrival + end
        found.append((replica(job, number).model_copy(update=update), leaves))
    return found
