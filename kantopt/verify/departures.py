"""How many pods can leave their places? Arithmetic from limits, pins and the tiers above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

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


def leaving(instance: Instance, group_of: Sequence[int | None]) -> tuple[int, tuple[int, ...]]:
    """Return how many groups of nodes are in use, and how many pods leave each to empty it.

    The latter in ascending order and without groups that hold a pod which can never leave. Daemons
    keep nothing in use; nodes in no group (``None``) are not counted.
    """
    pods: dict[int, int] = {}
    stays: set[int] = set()
    for podset in instance.podsets:
        if podset.daemon:
            continue
        leaves = may_leave(instance, podset)
        for spot, number in podset.current.items():
            group = group_of[spot.node]
            if group is not None:
                pods[group] = pods.get(group, 0) + number
                if not leaves:
                    stays.add(group)
    return len(pods), tuple(sorted(k for group, k in pods.items() if group not in stays))


def fewest_in_use(
    instance: Instance, group_of: Sequence[int | None], above: Mapping[Tier, int]
) -> int:
    """Return how many groups of nodes stay in use, whatever limits and pins allow to leave."""
    in_use, counts = leaving(instance, group_of)
    left = most_moves(instance, above) + most_evictions(instance, above)
    for pods in counts:
        if pods > left:
            break
        left -= pods
        in_use -= 1
    return in_use


def fewest_departures(instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return how many pods must leave their nodes: as many as keep the emptiest groups in use.

    So many groups have to be emptied as are in use now beyond what the tiers above allow, and
    each takes all its pods to leave.
    """
    fewest = 0
    for tier, value in above.items():
        if tier.metric in (Metric.NODES_IN_USE, Metric.DOMAINS_IN_USE):
            in_use, counts = _leaving(instance, tier.level)
            fewest = max(fewest, sum(counts[: max(0, in_use - value)]))
    return fewest


@lru_cache(maxsize=16)
def _leaving(instance: Instance, level: int | None) -> tuple[int, tuple[int, ...]]:
    nodes = range(len(instance.nodes))
    return leaving(instance, nodes if level is None else instance.topology.domain_of[level])
