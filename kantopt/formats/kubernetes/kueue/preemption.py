"""Of which queues Kueue evicts jobs for one that waits, by what their ClusterQueues say.

Of its own queue those that are less important (``withinClusterQueue``); of others of its cohort
those whose queue has borrowed what it needs (``reclaimWithinCohort``), and unless it may borrow at
the same time (``borrowWithinCohort``, fair sharing) only if its own queue's quota holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.jobs import Job
from kantopt.schema.quantity import to_base
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
    return Preemption(own != "Never", others != "Never", borrowing)


def evictable(
    queues: Mapping[str, Lender], running: Sequence[Job], waiting: Sequence[Job], *, flat: bool
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

    Returns
    -------
    tuple[Victims, ...]
        Jobs that wait for others than Kueue are not in it.
    """
    used: dict[str, dict[str, int]] = {name: {} for name in queues}
    for job in (*running, *(job for job in waiting if job.quota_reserved)):
        for resource, amount in _asks(job) if job.queue_name in used else ():
            of_queue = used[job.queue_name]
            of_queue[resource] = of_queue.get(resource, 0) + amount
    borrowed = {name: {*_borrowed(queue, used[name])} for name, queue in queues.items()}
    return tuple(
        Victims(job=job.full_name, queues=_of(queues[job.queue_name], job, queues, borrowed, flat))
        for job in waiting
        if job.queue_name in queues
        and not job.quota_reserved
        and not any(role.pods for role in job.pod_sets)
    )


def _of(
    queue: Lender,
    job: Job,
    queues: Mapping[str, Lender],
    borrowed: Mapping[str, set[str]],
    flat: bool,
) -> dict[str, int]:
    found = {queue.name: ANY} if queue.preemption.own else {}
    wants: dict[str, int] = {}
    for resource, amount in _asks(job, least=True):
        wants[resource] = wants.get(resource, 0) + amount
    fits = all(wants.get(resource, 0) <= n for resource, n in queue.nominal.items())
    most = ANY if fits or not flat else queue.preemption.borrowing
    if not queue.preemption.others or most is None:
        return found
    needed = {resource for resource, amount in wants.items() if amount}
    for other in queues.values():
        lends = other.cohort == queue.cohort and other.name != queue.name
        if lends and not needed.isdisjoint(borrowed[other.name]):
            found[other.name] = most
    return found


def _borrowed(queue: Lender, used: Mapping[str, int]) -> Iterable[str]:
    """Yield the resources of which a queue uses more than it owns, or may."""
    for resource, nominal in queue.nominal.items():
        amount = used.get(resource, 0)
        if amount > nominal or (amount and resource in queue.blurred):
            yield resource


def _asks(job: Job, *, least: bool = False) -> Iterable[tuple[str, int]]:
    for role in job.pod_sets:
        count = job.least_of(role) if least else role.count
        for resource, amount in {"pods": 1, **role.requests}.items():
            yield resource, count * to_base(resource, amount)
