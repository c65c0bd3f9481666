"""Whom queues let go for whom: a plan evicts nobody who does not go, and leaves out who cannot.

Kueue, KAI and Volcano evict by queues, kube-scheduler by priority. That a job may be evicted for
one that waits and not for another, more important one, no rule says. So those that wait take turns:
who would let others have victims that go for none of them evicts nobody beside these. Last come
those who have no victims; before them first those that are required, then pods for kube-scheduler,
which waits for nobody, then the most important, and of equals those who have more victims. Nor does
anybody evict beside these who only together with them asks for more than their queue's own, if that
is all that it may take back. Of the jobs that run, those stay that nobody is left to evict.

Where a Workload has another priority than its pods, each goes by what it knows: Kueue by the one,
kube-scheduler by the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kantopt.formats.notes import Notes
from kantopt.planning.words import listed
from kantopt.problem.chosen import asked_for, is_named
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.priority_classes import PriorityClasses
from kantopt.schema.asks import asks
from kantopt.schema.by_kueue import waits_for_kueue
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.verify.step import Step
from kantopt.verify.victims.preemptors import preemptors_of

_NOBODY, _ANY = -(2**31) - 1, 2**31 - 1


class _Victim(NamedTuple):
    """Jobs of a queue, or of none, that run and are equally important to everybody."""

    queue: str
    priority: int
    """By which a plan goes: one of the other two."""
    pods: int
    """For kube-scheduler."""
    kueue: int
    """For Kueue, or whoever else evicts by queues."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Jobs that wait, are equally important and may evict jobs of the same queues."""

    priority: int
    pods: int
    """Priority that kube-scheduler will see; who waits for it has no other."""
    evicts: Mapping[str, int]
    required: bool
    by_queue: bool
    """Whether their queue says whom they evict, and not their priority alone."""
    queued_only: bool
    """Whether who is in no queue does not go for them: their scheduler evicts its own pods."""
    jobs: list[Job] = field(default_factory=list)

    def wants(self, victim: _Victim) -> bool:
        """Whether they are more important than a job that would not be evicted for them."""
        return self.priority > victim.priority and not self._evicts(victim)

    def gets(self, victim: _Victim) -> bool:
        """Whether they may evict it."""
        return self.priority > victim.priority and self._evicts(victim)

    def _evicts(self, victim: _Victim) -> bool:
        if not (self.by_queue and (victim.queue or self.queued_only)):
            return self.pods > victim.pods  # those of Kueue's will, once it has let them go
        return self.priority > victim.kueue <= self.evicts.get(victim.queue, _NOBODY)


@dataclass(frozen=True, slots=True)
class Spared:
    """Who is not evicted, and who evicts nobody."""

    stays: frozenset[str] = frozenset()
    """Jobs that run and that nobody may evict, though more important ones wait."""
    behind: frozenset[str] = frozenset()
    """Jobs that wait and evict nobody, lest others get their victims."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """What jobs count as to whom it concerns, where that is not what Kueue takes them for."""

    def lines(self) -> tuple[str, ...]:
        """Say so."""
        notes = Notes()
        for names, text in (
            (self.stays, "jobs that, by queues, go for none of those that wait are not evicted"),
            (
                self.behind,
                "jobs for which others are evicted than for those that wait and come first, or "
                "whose queue owns no more than these ask for, evict nobody beside these",
            ),
        ):
            for name in sorted(names):
                notes.add(text, name)
        return notes.lines()


def without_spared(
    snapshot: ClusterSnapshot,
    pending: Sequence[Job],
    patterns: Sequence[str] | None,
    required: Sequence[str] = (),
) -> tuple[ClusterSnapshot, tuple[Job, ...]]:
    """Return the cluster and the jobs that wait, those fixed that stay, as :func:`spared` says."""
    found = spared(snapshot, pending, patterns, required)

    def settled(job: Job) -> Job:
        if job.full_name in found.priorities:
            job = job.model_copy(update={"priority": found.priorities[job.full_name]})
        if job.full_name in found.behind:
            job = job.model_copy(update={"preemption_policy": "Never"})
        return _fixed(job) if job.full_name in found.stays else job

    if found.stays or found.behind or found.priorities:
        jobs = tuple(map(settled, snapshot.jobs))
        snapshot = snapshot.model_copy(update={"jobs": jobs})
    return snapshot, tuple(map(settled, pending))


def notes_about(
    notes: Iterable[str], snapshot: ClusterSnapshot, pending: Sequence[Job], model: Model
) -> tuple[str, ...]:
    """Return notes with those about all that waits put right for what a model asks about."""
    all_that_waits = spared(snapshot, pending).lines()
    asked = spared(snapshot, pending, model.pending, model.required).lines()
    return (*(note for note in notes if note not in all_that_waits), *asked)


def beyond(snapshot: ClusterSnapshot, name: str) -> tuple[str, ...]:
    """Return the queues of which more may be evicted for a job than any plan evicts."""
    return next((item.beyond for item in snapshot.victims if item.job == name), ())


def beyond_words(snapshot: ClusterSnapshot, *names: str) -> str:
    """Say that more may be evicted for jobs than any plan evicts; nothing if it may not."""
    found = sorted({queue for name in names for queue in beyond(snapshot, name)})
    if not found:
        return ""
    queues = f"queue{'' if len(found) == 1 else 's'} {listed(found)}"
    whom = "it" if len(names) == 1 else "them"
    return f"By queues, jobs of {queues} may be evicted for {whom} that no plan evicts"


def unsure(snapshot: ClusterSnapshot) -> frozenset[str]:
    """Return the jobs for which more may be evicted than any plan evicts."""
    return frozenset(item.job for item in snapshot.victims if item.beyond)


def beyond_notes(snapshot: ClusterSnapshot, names: Iterable[str]) -> Iterator[str]:
    """Say for which of some jobs more may be evicted than any plan evicts."""
    if found := [name for name in names if beyond(snapshot, name)]:
        jobs = f"job{'' if len(found) == 1 else 's'} {listed(found)}"
        yield f"{jobs}: {beyond_words(snapshot, *found)}"


def below_own(snapshot: ClusterSnapshot, instance: Instance, placement: Placement) -> Iterator[str]:
    """Name queues of which others take so much that their scheduler stops before the last job."""
    excess = {item.job: item.excess for item in snapshot.victims if item.excess}
    if not excess:
        return
    step = Step(instance, instance.current, placement)
    taken: dict[str, dict[str, Counter[str]]] = {}
    has: dict[str, Mapping[str, str | int]] = {}
    preemptors, running = preemptors_of(step), {job.full_name: job for job in snapshot.jobs}
    for job in step.changed_jobs:
        gone = {role.name: step.evicted(s) for role in job.roles if (s := role.running) is not None}
        by = preemptors.of_job(job) if any(gone.values()) else None
        document = running.get(job.name)
        if by is None or document is None or document.queue_name not in excess.get(by.name, ()):
            continue
        has[document.queue_name] = excess[by.name][document.queue_name]
        asked = taken.setdefault(document.queue_name, {}).setdefault(job.name, Counter())
        for podset in document.pod_sets:
            for resource, amount in podset.requests.items():
                asked[resource] += gone.get(podset.name, 0) * to_base(resource, amount)
    for queue, jobs in taken.items():
        total = sum(jobs.values(), Counter[str]())
        left = {r: to_base(r, amount) for r, amount in has[queue].items()}
        if not any(total[r] - each[r] < n for each in jobs.values() for r, n in left.items()):
            yield (
                f"queue {queue} has no more than it owns before all of {listed(sorted(jobs))} are "
                "gone: its scheduler stops then, and evicts the others only by other means"
            )


def without_victims(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the cluster as where priorities alone say who may be evicted for whom."""
    return snapshot.model_copy(update={"victims": ()})


def spared(
    snapshot: ClusterSnapshot,
    pending: Iterable[Job],
    patterns: Sequence[str] | None = None,
    required: Sequence[str] = (),
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
    required
        Which of them come first.
    """
    jobs = (*snapshot.jobs, *pending)
    if not snapshot.victims and all(job.pod_priority is None for job in jobs):
        return Spared()
    evicts = {item.job: item for item in snapshot.victims}
    classes = PriorityClasses(snapshot)
    asking = [job for job in jobs if _may_evict(job, classes) and asked_for(job, patterns)]
    numbers = _Numbers(classes, asking)
    victims: dict[_Victim, list[str]] = {}
    for job in snapshot.jobs:
        if job.running:
            own = numbers.pods(job), numbers.kueue(job)
            victim = _Victim(job.queue_name, numbers.counted(job), *own)
            victims.setdefault(victim, []).append(job.full_name)
    groups: dict[tuple[object, ...], _Waiting] = {}
    for job in asking:
        told, own = evicts.get(job.full_name), (numbers.counted(job), numbers.pods(job))
        first = is_named(job.full_name, required)
        queues = {} if told is None else told.queues
        kind = first, told is not None, told is not None and told.queued_only
        group = _Waiting(*own, queues, *kind)
        key = *kind, *own, frozenset(queues.items())
        groups.setdefault(key, group).jobs.append(job)
    wanted, gotten, behind = set[_Victim](), set[_Victim](), set[str]()

    def turn(group: _Waiting) -> tuple[object, ...]:
        has = sum(map(group.gets, victims))
        return not has, not group.required, group.by_queue, -group.priority, -has

    quotas = _Quotas(snapshot)
    for group in sorted(groups.values(), key=turn):
        wants = {victim for victim in victims if group.wants(victim)}
        gets = {victim for victim in victims if group.gets(victim)}
        if wants.isdisjoint(gotten) and gets.isdisjoint(wanted):
            wanted |= wants
            gotten |= gets
            behind |= {job.full_name for job in group.jobs if not quotas.hold(job)}
        else:
            behind |= {job.full_name for job in group.jobs}
    return Spared(_names(victims, wanted), frozenset(behind), numbers.other(jobs))


def _may_evict(job: Job, classes: PriorityClasses) -> bool:
    cls = classes.of(job)
    policy = job.preemption_policy or (cls.preemption_policy if cls else None)
    return bool(job.waiting) and policy != "Never"


class _Numbers:
    """Priorities of jobs that Kueue and kube-scheduler take for differently important.

    Pods that exist, or will since Kueue has let them go, wait by kube-scheduler's. Jobs that run
    count by Kueue's, as do those that wait for it, unless kube-scheduler would judge otherwise for
    one of those that ask.
    """

    def __init__(self, classes: PriorityClasses, asking: Iterable[Job]) -> None:
        self._classes = classes
        self._by_pods = {self.pods(job) for job in asking if not waits_for_kueue(job)}

    def kueue(self, job: Job) -> int:
        """Return what Kueue takes a job for."""
        return self._classes.priority(job)

    def pods(self, job: Job) -> int:
        """Return what kube-scheduler takes its pods for."""
        return self.kueue(job) if job.pod_priority is None else job.pod_priority

    def counted(self, job: Job) -> int:
        """Return what a plan takes it for."""
        pods, kueue = self.pods(job), self.kueue(job)
        least, most = sorted((pods, kueue))
        by_pods = not waits_for_kueue(job) if job.waiting else self._judges(least, most)
        return pods if by_pods else kueue

    def _judges(self, least: int, most: int) -> bool:
        return any(least < number <= most for number in self._by_pods)

    def other(self, jobs: Iterable[Job]) -> dict[str, int]:
        """Return what jobs count as, by name, where Kueue takes them for something else."""
        found = {job.full_name: self.counted(job) for job in jobs if job.pod_priority is not None}
        kueue = {job.full_name: self.kueue(job) for job in jobs}
        return {name: number for name, number in found.items() if number != kueue[name]}


class _Quotas:
    """What queues have left for jobs that may take back only what is their queue's own."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._left = {
            item.job: [
                (queue, left)
                for queue, left in ((None, item.nominal_left), *item.left_above.items())
                if left
            ]
            for item in snapshot.victims
        }
        self._taken: dict[str, Counter[str]] = {}

    def hold(self, job: Job) -> bool:
        """Whether the quota of its queue holds a job beside those before it; if so it is taken."""
        together = {}
        for queue, left in self._left.get(job.full_name, ()):
            owner = queue or job.queue_name
            together[owner] = self._taken.get(owner, Counter()) + asks(job, least=True)
            if any(together[owner][r] > to_base(r, amount) for r, amount in left.items()):
                return False
        self._taken |= together
        return True


def _names(victims: Mapping[_Victim, Sequence[str]], chosen: Iterable[_Victim]) -> frozenset[str]:
    return frozenset(name for victim in chosen for name in victims[victim])


def _fixed(job: Job) -> Job:
    roles = tuple(role.model_copy(update={"preemptible": None}) for role in job.pod_sets)
    return job.model_copy(update={"preemptible": False, "pod_sets": roles})
