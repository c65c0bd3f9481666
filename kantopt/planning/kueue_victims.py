"""Whom Kueue evicts for whom: a plan evicts nobody whom it would not, and leaves out who cannot.

That a job may be evicted for one that waits and not for another, more important one, no rule says.
So of those that wait the most important come first: who would let them have such victims evicts
nobody as long as they wait. Of the jobs that run, those stay that nobody is left to evict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kantopt.formats.notes import Notes
from kantopt.problem.chosen import asked_for
from kantopt.problem.priority_classes import PriorityClasses
from kantopt.schema.jobs import Job
from kantopt.schema.snapshot import ClusterSnapshot

_NOBODY = -(2**31) - 1
_Victim = tuple[str, int]
"""Queue and priority of jobs that run."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Jobs that wait, are equally important and may evict jobs of the same queues."""

    priority: int
    evicts: Mapping[str, int]
    names: list[str] = field(default_factory=list)

    def wants(self, victim: _Victim) -> bool:
        """Whether they are more important than a job that Kueue would not evict for them."""
        queue, priority = victim
        return self.priority > priority > self.evicts.get(queue, _NOBODY)

    def gets(self, victim: _Victim) -> bool:
        """Whether they may evict it."""
        return self.priority > victim[1] and not self.wants(victim)


@dataclass(frozen=True, slots=True)
class Spared:
    """Who is not evicted, and who evicts nobody."""

    stays: frozenset[str] = frozenset()
    """Jobs that run and that nobody may evict, though more important ones wait."""
    behind: frozenset[str] = frozenset()
    """Jobs that wait and evict nobody, lest others get their victims."""
    shared: frozenset[str] = frozenset()
    """Jobs that run and that pods which exist may evict, so that others may as well."""

    def lines(self) -> tuple[str, ...]:
        """Say so."""
        notes = Notes()
        for names, text in (
            (self.stays, "jobs that Kueue evicts for none of those that wait are not evicted"),
            (
                self.behind,
                "jobs for which Kueue evicts others than for more important ones that wait evict "
                "nobody beside these",
            ),
            (
                self.shared,
                "jobs that kube-scheduler may evict for pods that wait may be evicted here for "
                "jobs for which Kueue would not",
            ),
        ):
            for name in sorted(names):
                notes.add(text, name)
        return notes.lines()


def without_spared(
    snapshot: ClusterSnapshot,
    pending: Sequence[Job],
    patterns: Sequence[str] | None,
) -> tuple[ClusterSnapshot, tuple[Job, ...]]:
    """Return the cluster and the jobs that wait, those fixed that stay, as :func:`spared` says."""
    found = spared(snapshot, pending, patterns)
    if found.stays:
        jobs = tuple(_fixed(job) if job.full_name in found.stays else job for job in snapshot.jobs)
        snapshot = snapshot.model_copy(update={"jobs": jobs})
    return snapshot, tuple(
        job.model_copy(update={"preemption_policy": "Never"})
        if job.full_name in found.behind
        else job
        for job in pending
    )


def without_victims(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the cluster as where priorities alone say who may be evicted for whom."""
    return snapshot.model_copy(update={"victims": ()})


def spared(
    snapshot: ClusterSnapshot,
    pending: Iterable[Job],
    patterns: Sequence[str] | None = None,
) -> Spared:
    """Find out who is not evicted, and who evicts nobody.

    Parameters
    ----------
    snapshot
        The cluster.
    pending
        The jobs that wait.
    patterns
        Which of them are asked about; without patterns all are.
    """
    if not snapshot.victims:
        return Spared()
    evicts = {item.job: item.queues for item in snapshot.victims}
    classes = PriorityClasses(snapshot)
    victims: dict[_Victim, list[str]] = {}
    for job in snapshot.jobs:
        if job.queue_name and job.running:
            victim = job.queue_name, classes.priority(job)
            victims.setdefault(victim, []).append(job.full_name)
    others, groups = _NOBODY, dict[tuple[int, frozenset[tuple[str, int]]], _Waiting]()
    for job in (*snapshot.jobs, *pending):
        cls = classes.of(job)
        policy = job.preemption_policy or (cls.preemption_policy if cls else None)
        if policy == "Never" or not (job.waiting and asked_for(job, patterns)):
            continue
        told, priority = evicts.get(job.full_name), classes.priority(job)
        if told is None:
            others = max(others, priority)
            continue
        key = -priority, frozenset(told.items())
        groups.setdefault(key, _Waiting(priority, told)).names.append(job.full_name)
    wanted, gotten, behind = set[_Victim](), set[_Victim](), set[str]()
    for group in (groups[key] for key in sorted(groups, key=lambda key: key[0])):
        wants = {victim for victim in victims if group.wants(victim)}
        gets = {victim for victim in victims if group.gets(victim)}
        if wants.isdisjoint(gotten) and gets.isdisjoint(wanted):
            wanted |= wants
            gotten |= gets
        else:
            behind |= {*group.names}
    free = {victim for victim in victims if victim[1] < others}
    return Spared(
        stays=_names(victims, wanted - free),
        behind=frozenset(behind),
        shared=_names(victims, wanted & free),
    )


def _names(victims: Mapping[_Victim, Sequence[str]], chosen: Iterable[_Victim]) -> frozenset[str]:
    return frozenset(name for victim in chosen for name in victims[victim])


def _fixed(job: Job) -> Job:
    roles = tuple(role.model_copy(update={"preemptible": None}) for role in job.pod_sets)
    return job.model_copy(update={"preemptible": False, "pod_sets": roles})
