"""R7 quota."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.problem.cluster import Queue, Quota
from kantopt.problem.instance import Instance
from kantopt.problem.kept import kept_with_instance
from kantopt.schema.model import Rule
from kantopt.schema.quantity import from_base
from kantopt.verify.step import Step, Violation, beyond
from kantopt.verify.usage import Cohort


def queue_limit(queue: Queue, quota: Quota) -> int | None:
    """Most that a queue may use: its nominal quota and what it may borrow; ``None``: no limit."""
    if not queue.cohort:
        return max(0, quota.nominal)
    borrowing = quota.borrowing_limit
    return None if borrowing is None else max(0, quota.nominal + borrowing)


def held_words(amount: str | int) -> str:
    """Say of what is counted without it how much jobs hold, reserved or by other names."""
    return f" beside {amount} that jobs hold" if amount else ""


@kept_with_instance(1)
def cohorts(instance: Instance) -> dict[Cohort, list[tuple[Queue, Quota]]]:
    """Queues of each cohort that have a quota for a resource, by cohort and resource."""
    found: dict[Cohort, list[tuple[Queue, Quota]]] = {}
    for queue in instance.queues:
        for quota in queue.quotas:
            if queue.cohort:
                found.setdefault((queue.cohort, quota.resource), []).append((queue, quota))
    return dict(sorted(found.items()))


def shared_use(members: list[tuple[Queue, Quota]], usage: Sequence[Sequence[int]]) -> int:
    """Use of what a cohort shares: of each queue the part beyond what it never lends.

    ``usage`` is by queue and resource. For loads :class:`~kantopt.verify.usage.Usage` has it.
    """
    return sum(
        max(0, usage[queue.index][quota.resource] - quota.guaranteed) for queue, quota in members
    )


def shared_limit(members: list[tuple[Queue, Quota]]) -> int:
    """Return what a cohort shares: of each queue the nominal quota less what it never lends.

    It is below 0 where jobs hold more than that, whether they run or wait.
    """
    return sum(quota.nominal - quota.guaranteed for _, quota in members)


@kept_with_instance(1)
def shared_limits(instance: Instance) -> dict[Cohort, int]:
    """What each cohort shares."""
    return {cohort: shared_limit(members) for cohort, members in cohorts(instance).items()}


def overdraft(
    members: list[tuple[Queue, Quota]], usage: Sequence[Sequence[int]], queue: int | None
) -> int:
    """Return how much too much a cohort shares for pods to come to a queue; at most 0: none.

    What others use beyond what the cohort shares, the queue has to leave unused of its own.
    """
    unused = (
        max(0, quota.guaranteed - usage[owner.index][quota.resource])
        for owner, quota in members
        if owner.index == queue
    )
    return shared_use(members, usage) - shared_limit(members) - sum(unused)


def shared_words(used: int, limit: int, resource: str) -> str:
    """Write what a cohort shares beside its limit, with what jobs hold beyond that."""
    held = max(0, -limit)
    return beyond(used + held, limit + held, resource, "shared ")


def check_quota(step: Step) -> Iterator[Violation]:
    """A queue uses no more than its quota and what its cohort lends it.

    What it used beyond that before may stay, but then nothing new comes: who leaves hands his
    share on to nobody until the queue is within its limit. By as much as a cohort is beyond its
    own, a queue to which pods come has to stay within what it never lends.
    """
    instance = step.instance
    if not instance.queues:
        return
    usage, limits = step.loads.usage, shared_limits(instance)
    come = _coming(step)
    for queue in instance.queues:
        for quota in queue.quotas:
            limit = queue_limit(queue, quota)
            used = usage.of[queue.index][quota.resource]
            if limit is not None and used > limit and (queue.index, quota.resource) in come:
                resource = instance.resources[quota.resource]
                held = held_words(from_base(resource, quota.held))
                text = f"{beyond(used, limit, resource)}{held}"
                yield Violation(Rule.QUOTA, f"queue {queue.name}", text)
    for (cohort, r), members in cohorts(instance).items():
        used, limit = usage.shared[cohort, r], limits[cohort, r]
        for queue, _ in members if used > limit else ():
            unused = usage.unused(queue.index, r)
            if (queue.index, r) in come and used - limit > unused:
                resource = instance.resources[r]
                text = shared_words(used, limit, resource)
                if unused:
                    text += f"; queue {queue.name} leaves {from_base(resource, unused)} of its own"
                yield Violation(Rule.QUOTA, f"cohort {cohort}", text)
                break


def _coming(step: Step) -> set[tuple[int | None, int]]:
    """Queues, and resources that pods use which come to them and were not there before."""
    instance = step.instance
    return {
        (instance.job_of(s).queue, r)
        for s in step.changed
        if step.bound(s)
        for r, amount in enumerate(instance.podsets[s].demand)
        if amount
    }
