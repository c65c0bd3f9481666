"""Of which queues Kueue evicts jobs for one that waits, by what their ClusterQueues say.

Of its own queue those that are less important (``withinClusterQueue``); of others of its cohort
those whose queue has borrowed what it needs (``reclaimWithinCohort``), and unless it may borrow at
the same time (``borrowWithinCohort``, fair sharing) only if its own queue's quota holds it beside
all that runs there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.asks import asks
from kantopt.schema.jobs import Job
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import Victims

ANY = 2**31 - 1
"""Priority that none exceeds."""


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whom a ClusterQueue lets its jobs evict."""

    own: bool = False
    others: bool = False
    borrowing: int | None = None
    """Priority up to which those of others go though its own quota is exceeded; ``None``: none."""
    equal: bool = False
    """Whether newer ones of its own go that are equally important."""
    any_priority: bool = False
    """Whether those of others go however important they are."""


NOBODY = Preemption()
"""What a queue has that says nothing."""


@dataclass(frozen=True, slots=True)
class Lender:
    """A ClusterQueue: its cohort, what it owns, and whom it lets its jobs evict."""

    name: str
    cohort: str
    preemption: Preemption
    nominal: Mapping[str, int] = field(default_factory=dict)
    """By resource, of all flavors together."""
    blurred: frozenset[str] = frozenset()
    """Resources of several flavors: how much of each is used is not known here."""


def read_preemption(queue: View, cohort: str, notes: Notes) -> Preemption:
    """Read whom a ClusterQueue lets its jobs evict; what goes beyond priorities is noted."""
    name, found = queue.at("metadata").name(), queue.at("spec", "preemption")
    own = found.text("withinClusterQueue", "Never")
    others = found.text("reclaimWithinCohort", "Never") if cohort else "Never"
    if others == "Any":
        text = "queues that may reclaim what others borrow evict less important jobs only here"
        notes.add(text, name)
    if "LowerOrNewerEqualPriority" in (own, others):
        text = "queues that may evict newer jobs of equal priority evict less important ones only"
        notes.add(f"{text} here", name)
    besides, borrowing = found.at("borrowWithinCohort"), None
    if "fairSharing" in queue.at("status"):
        borrowing = ANY
    elif besides.text("policy", "Never") != "Never":
        most = besides.integer("maxPriorityThreshold")
        borrowing = ANY if most is None else most
    return Preemption(
        own=own != "Never",
        others=others != "Never",
        borrowing=borrowing,
        equal=own == "LowerOrNewerEqualPriority",
        any_priority=others == "Any",
    )


def evictable(
    queues: Mapping[str, Lender],
    running: Sequence[Job],
    waiting: Sequence[Job],
    *,
    flat: bool,
    notes: Notes,
) -> tuple[Victims, ...]:
    """Say for each job that waits for Kueue of which queues it evicts jobs, and how important ones.

    Parameters
    ----------
    queues
        All ClusterQueues by name.
    running, waiting
        All jobs; those that hold their quota use it.
    flat
        Whether cohorts have neither parents nor quotas of their own.
    notes
        Takes jobs that would need victims of their own queue beside those of others.

    Returns
    -------
    tuple[Victims, ...]
        Jobs that wait for others than Kueue are not in it.
    """
    lending = _Lending(queues, running, waiting, flat=flat)
    return tuple(
        lending.victims(job, notes)
        for job in waiting
        if job.queue_name in queues
        and not job.quota_reserved
        and not any(role.pods for role in job.pod_sets)
    )


class _Lending:
    """What queues own, and what the jobs that hold their quota use of it."""

    def __init__(
        self,
        queues: Mapping[str, Lender],
        running: Sequence[Job],
        waiting: Sequence[Job],
        *,
        flat: bool,
    ) -> None:
        self._queues, self._flat = queues, flat
        self._used = {name: Counter[str]() for name in queues}
        self._run: dict[str, set[int]] = {name: set() for name in queues}
        for job in (*running, *(job for job in waiting if job.quota_reserved)):
            if job.queue_name in queues:
                self._used[job.queue_name] += asks(job)
        for job in running:
            self._run.setdefault(job.queue_name, set()).add(job.priority or 0)
        self._borrowed = {n: {*_borrowed(queue, self._used[n])} for n, queue in queues.items()}

    def victims(self, job: Job, notes: Notes) -> Victims:
        """Say of which queues Kueue evicts jobs for one that waits."""
        queue, wants = self._queues[job.queue_name], asks(job, least=True)
        found = {queue.name: ANY} if queue.preemption.own else {}
        reclaims = [*self._reclaims(queue, wants)]
        used = self._used[queue.name]
        left = {r: queue.nominal[r] - used[r] for r in wants if r in queue.nominal}
        fits = all(wants[resource] <= amount for resource, amount in left.items())
        most = ANY if fits or not self._flat else queue.preemption.borrowing
        if most is not None:
            found |= dict.fromkeys(reclaims, most)
        elif reclaims and found and min(left.values()) > 0 and self._pushes(job):
            text = (
                "jobs for which Kueue takes back what other queues have borrowed only while it "
                "evicts jobs of their own queue evict only the latter here"
            )
            notes.add(text, job.full_name)
        bound = reclaims and fits and self._flat and queue.preemption.borrowing != ANY
        nominal_left = {name: from_base(name, n) for name, n in left.items()} if bound else {}
        others = reclaims if queue.preemption.any_priority and most == ANY else ()
        return Victims(
            job=job.full_name,
            queues=found,
            nominal_left=nominal_left,
            beyond=tuple(sorted(self._beyond(queue, job.priority or 0, others))),
        )

    def _beyond(self, queue: Lender, priority: int, others: Iterable[str]) -> Iterator[str]:
        """Yield the queues with jobs that go for one though they are no less important."""
        if queue.preemption.equal and priority in self._run[queue.name]:
            yield queue.name
        for name in others:
            if max(self._run[name], default=priority - 1) >= priority:
                yield name

    def _pushes(self, job: Job) -> bool:
        """Whether less important jobs of its own queue run."""
        return min(self._run[job.queue_name], default=ANY) < (job.priority or 0)

    def _reclaims(self, queue: Lender, wants: Iterable[str]) -> Iterator[str]:
        """Yield the queues that have borrowed something that a job asks for."""
        for other in self._queues.values() if queue.preemption.others else ():
            lends = other.cohort == queue.cohort and other.name != queue.name
            if lends and not self._borrowed[other.name].isdisjoint(wants):
                yield other.name


def _borrowed(queue: Lender, used: Mapping[str, int]) -> Iterable[str]:
    """Yield the resources of which a queue uses more than it owns, or may."""
    for resource, nominal in queue.nominal.items():
        amount = used.get(resource, 0)
        if amount > nominal or (amount and resource in queue.blurred):
            yield resource
