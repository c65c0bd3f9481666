"""Presolve (Andersen and Andersen 1995): budgets and quotas that some plan could exceed.

All others are redundant, and pods that have them are as free as pods that have none.
"""

from __future__ import annotations

from functools import lru_cache

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.schema.model import Rule
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use


@lru_cache(maxsize=8)
def binding_budgets(instance: Instance) -> frozenset[int]:
    """Return the budgets that bear fewer evictions than they have pods that run."""
    if not instance.on(Rule.DISRUPTION):
        return frozenset()
    return frozenset(
        budget.index
        for budget in instance.budgets
        if budget.allowed < sum(instance.podsets[s].count for s in budget.podsets)
    )


@lru_cache(maxsize=8)
def binding_queues(instance: Instance) -> frozenset[int]:
    """Return the queues that would use more than they may if all their pods were placed.

    That is more than their own limit or, together with their cohort, than what it shares.
    """
    if not (instance.on(Rule.QUOTA) and instance.queues):
        return frozenset()
    wanted = [[0] * len(instance.resources) for _ in instance.queues]
    for podset in instance.podsets:
        q = instance.jobs[podset.job].queue
        if q is not None:
            for r, amount in enumerate(podset.demand):
                wanted[q][r] += podset.count * amount
    found = set()
    for queue in instance.queues:
        for quota in queue.quotas:
            limit = queue_limit(queue, quota)
            if limit is not None and wanted[queue.index][quota.resource] > limit:
                found.add(queue.index)
    for members in cohorts(instance).values():
        if shared_use(members, wanted) > shared_limit(members):
            found |= {queue.index for queue, _ in members}
    return frozenset(found)


def may_move(instance: Instance, podset: PodSet) -> bool:
    """Whether budgets let pods of a set move: one that bears a disruption does, two never do."""
    if not instance.on(Rule.DISRUPTION):
        return True
    return len(podset.budgets) < 2 and all(instance.budgets[b].allowed for b in podset.budgets)
