"""What a tier counts in use: nodes, each with its fee, and the groups that they lie in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric


def fees_of(instance: Instance, tier: Tier) -> tuple[int, ...]:
    """Return what each node counts in a tier while it is in use, whatever its pods count."""
    match tier.metric:
        case Metric.COST:
            return tuple(node.price for node in instance.nodes)
        case Metric.ENERGY:
            return tuple(1000 * node.idle_power for node in instance.nodes)
        case _:
            return (1,) * len(instance.nodes)


@lru_cache(maxsize=16)
def groups_of(instance: Instance, tier: Tier) -> tuple[int | None, ...]:
    """Return the group of each node that a tier counts; ``None`` for the others.

    That is its domain at the tier's level; of a tier of nodes each node is a group by itself.
    """
    nodes = counted(instance, tier)
    of: Sequence[int | None] = range(len(instance.nodes))
    if tier.level is not None:
        of = instance.topology.domain_of[tier.level]
    elif tier.metric is Metric.DOMAINS_IN_USE:
        nodes = frozenset()  # there are no levels, and so no domains
    return tuple(group if n in nodes else None for n, group in enumerate(of))


def members_in_use(groups: Sequence[int | None], used: Iterable[int]) -> dict[int, list[int]]:
    """Return all nodes of each group that has one in use, by the group of each node."""
    busy = {groups[n] for n in used}
    found: dict[int, list[int]] = {}
    for n, group in enumerate(groups):
        if group is not None and group in busy:
            found.setdefault(group, []).append(n)
    return found
