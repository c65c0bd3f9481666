"""How many pods can leave their places? Arithmetic from limits, pins and the tiers above."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule


def may_leave(instance: Instance, podset: PodSet) -> bool:
    """Whether pods of a running pod set may be evicted or moved at all."""
    limits, pinned = instance.model.limits, instance.on(Rule.PINNED)
    evicts = (podset.preemptible or not pinned) and limits.evictions != 0
    return evicts or ((podset.movable or not pinned) and limits.moves != 0)


def most_moves(instance: Instance, above: Mapping[Tier, int]) -> int:
    """Most pods that a plan may move which is no worse than some values in the tiers above."""
    pinned = instance.on(Rule.PINNED)
    most = sum(p.count for p in instance.podsets if p.running and (p.movable or not pinned))
    if instance.model.limits.moves is not None:
        most = min(most, instance.model.limits.moves)
    disturbing = (Metric.MOVES, Metric.DISRUPTION_COST)
    values = (v for t, v in above.items() if t.metric in disturbing and t.priority is None)
    return min([most, *values])


def most_evictions(instance: Instance, above: Mapping[Tier, int]) -> int:
    """Most pods that a plan may evict which is no worse than some values in the tiers above."""
    pinned = instance.on(Rule.PINNED)
    most = sum(p.count for p in instance.podsets if p.running and (p.preemptible or not pinned))
    if instance.model.limits.evictions is not None:
        most = min(most, instance.model.limits.evictions)
    costs = (
        v // 2
        for t, v in above.items()
        if t.metric is Metric.DISRUPTION_COST and t.priority is None
    )
    return min([most, *costs])
