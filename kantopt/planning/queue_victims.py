"""Whom queues let go for whom: a plan evicts nobody who does not go, and leaves out who cannot.

Kueue, KAI and Volcano evict by queues, kube-scheduler by priority. That a job may be evicted for
one that waits and not for another, more important one, no rule says. So those that wait take turns:
who would let others have victims that go for none of them evicts nobody beside these. Last come
those who need no victims, as they all have room with nobody gone, and those who have none; before
them first those that are required, then pods for kube-scheduler, which waits for nobody, then the
most important, and of equals those who have more victims. Who can never start has no turn. Nor does
anybody evict beside these who only together with them asks for more than their queue's own, if that
is all that it may take back. Of the jobs that run, those stay that nobody is left to evict.

Where a Workload has another priority than its pods, each goes by what it knows: Kueue by the one,
kube-scheduler by the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from kantopt.formats.notes import Notes
from kantopt.planning.unaided import Unaided, unaided
from kantopt.planning.words import listed
from kantopt.problem.chosen import asked_for, is_named
from kantopt.problem.priority_classes import PriorityClasses
from kantopt.schema.asks import asks
from kantopt.schema.by_kueue import waits_for_kueue
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot

_NOBODY = -(2**31) - 1
_STAYS = "jobs that, by queues, go for none of those that wait are not evicted"
_BEHIND = (
    "jobs for which nobody is evicted, as other waiting jobs are served first and no plan evicts "
    "for both"
)


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
    fits: bool
    """Whether they need no victims."""
    done: bool
    """Whether others were evicted for them."""
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
    content: frozenset[str] = frozenset()
    """Jobs that have room as things stand: should others get it, their victims may stay."""
    idle: frozenset[str] = frozenset()
    """The same of jobs that have no victims; of those with room as things stand none."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """What jobs count as to whom it concerns, where that is not what Kueue takes them for."""

    @property
    def no_turn(self) -> frozenset[str]:
        """Jobs that evict nobody, or not all whom they might, as others come first."""
        return self.behind | self.content

    def lines(self) -> tuple[str, ...]:
        """Say so."""
        notes = Notes()
        for names, text in (
            (self.stays, _STAYS),
            (self.behind | self.idle, _BEHIND),
        ):
            for name in sorted(names):
                notes.add(text, name)
        return notes.lines()


def without_spared(
    snapshot: ClusterSnapshot, pending: Sequence[Job], found: Spared
) -> tuple[ClusterSnapshot, tuple[Job, ...]]:
    """Return the cluster and the jobs that wait, those fixed that stay, as :func:`spared` says."""

    def settled(job: Job) -> Job:
        if job.full_name in found.priorities:
            job = job.model_copy(update={"priority": found.priorities[job.full_name]})
        if job.full_name in found.behind | found.idle:
            job = job.model_copy(update={"preemption_policy": "Never"})
        return _fixed(job) if job.full_name in found.stays else job

    if found != Spared():
        jobs = tuple(map(settled, snapshot.jobs))
        snapshot = snapshot.model_copy(update={"jobs": jobs})
    return snapshot, tuple(map(settled, pending))


def notes_about(notes: Iterable[str], found: Spared) -> tuple[str, ...]:
    """Return notes with those about all that waits put right for what is asked about."""
    others = (note for note in notes if not note.startswith((_STAYS, _BEHIND)))
    return (*others, *found.lines())


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


def unsure(snapshot: ClusterSnapshot, found: Spared) -> frozenset[str]:
    """Return the jobs for which more may be evicted than any plan evicts, or in another turn."""
    return found.no_turn | {item.job for item in snapshot.victims if item.beyond}


def beyond_notes(snapshot: ClusterSnapshot, names: Iterable[str]) -> Iterator[str]:
    """Say for which of some jobs more may be evicted than any plan evicts."""
    if found := [name for name in names if beyond(snapshot, name)]:
        jobs = f"job{'' if len(found) == 1 else 's'} {listed(found)}"
        yield f"{jobs}: {beyond_words(snapshot, *found)}"


def spared(
    snapshot: ClusterSnapshot,
    pending: Sequence[Job],
    model: Model,
    about: str | None = None,
    done: frozenset[str] = frozenset(),
) -> Spared:
    """Find out who is not evicted, and who evicts nobody.

    Parameters
    ----------
    snapshot
        The cluster.
    pending
        The jobs that wait.
    model
        Which of them are asked about, which come first, and by which rules they are placed.
    about
        The only one that is asked about; ``None``: all that the model asks about.
    done
        Jobs that were evicted, and those for whom they were: they have had their turn.
    """
    return _spared(_Asked(snapshot, pending, model, about, done))


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Documents by identity: of the same question this is asked several times."""

    snapshot: ClusterSnapshot
    pending: Sequence[Job]
    model: Model
    about: str | None
    done: frozenset[str]

    def __hash__(self) -> int:
        return hash((id(self.snapshot), id(self.pending), self.about))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Asked)
            and self.snapshot is other.snapshot
            and self.pending is other.pending
            and (self.about, self.done) == (other.about, other.done)
            and self.model == other.model
        )


@lru_cache(maxsize=2)
def _spared(asked: _Asked) -> Spared:
    snapshot, pending, model = asked.snapshot, asked.pending, asked.model
    jobs = (*snapshot.jobs, *pending)
    if not snapshot.victims and all(job.pod_priority is None for job in jobs):
        return Spared()
    found = _turns(asked, jobs, Unaided())
    return (
        _turns(asked, jobs, unaided(snapshot, pending, model))
        if found.behind or found.idle
        else found
    )


def _turns(asked: _Asked, jobs: Sequence[Job], known: Unaided) -> Spared:
    """Let those who wait take turns."""
    snapshot, model, done = asked.snapshot, asked.model, asked.done
    patterns = model.pending if asked.about is None else (asked.about,)
    evicts = {item.job: item for item in snapshot.victims}
    classes = PriorityClasses(snapshot)
    asking = [
        job
        for job in jobs
        if _may_evict(job, classes)
        and asked_for(job, patterns)
        and job.full_name not in known.never
    ]
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
        queues = {} if told is None else told.queues
        queued_only = told is not None and told.queued_only
        named = is_named(job.full_name, model.required)
        fits, had = job.full_name in known.fit, job.full_name in done
        kind = named, told is not None, queued_only, fits, had
        group = _Waiting(*own, queues, *kind)
        key = *kind, *own, frozenset(queues.items())
        groups.setdefault(key, group).jobs.append(job)

    def turn(group: _Waiting, *, fits: bool) -> tuple[object, ...]:
        has = sum(map(group.gets, victims))
        first = not group.done, not has, fits
        return *first, not group.required, group.by_queue, -group.priority, -has

    wanted, gotten, behind = set[_Victim](), set[_Victim](), set[str]()
    for group in sorted(groups.values(), key=lambda group: turn(group, fits=group.fits)):
        wants = {victim for victim in victims if group.wants(victim)}
        gets = {victim for victim in victims if group.gets(victim)}
        if group.done or (wants.isdisjoint(gotten) and gets.isdisjoint(wanted)):
            wanted |= wants
            gotten |= gets
        else:
            behind |= {job.full_name for job in group.jobs}
    quotas = _Quotas(snapshot)
    for group in sorted(groups.values(), key=lambda group: turn(group, fits=False)):
        # Who fits starts, and takes of the quota, also while it evicts nobody.
        asks_too = [job for job in group.jobs if group.fits or job.full_name not in behind]
        behind |= {job.full_name for job in asks_too if not quotas.hold(job)}
    idle = frozenset(
        job.full_name
        for group in groups.values()
        if not any(map(group.gets, victims))
        for job in group.jobs
    )
    # Who fits starts in room that nobody has to leave: were it one that may evict nobody, nobody
    # else could evict beside it.
    last, fit = frozenset(behind - known.fit - done), frozenset(behind & known.fit - done)
    stays = _names(victims, wanted) - done
    return Spared(stays, last - idle, fit - idle, last & idle, numbers.other(jobs))


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
