"""What fills no whole nodes: a rest of the GPUs taken that every plan leaves, by divisibility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from kantopt.problem.amounts import gpus_among
from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.bounds.departures import evictable, most_evictions
from kantopt.verify.step import standing_loads


@dataclass(frozen=True, slots=True)
class Rest:
    """Milli-GPU of nodes that count, of which no plan has a multiple of a unit taken.

    Attributes
    ----------
    unit
        What each node offers is a multiple of it.
    grain
        What is free on a node is a multiple of it, and so is the unit.
    free
        What is free of all nodes, modulo the unit; not 0.
    most
        What the largest node offers.
    """

    unit: int
    grain: int
    free: int
    most: int


def rest_of(instance: Instance, tier: Tier, above: Mapping[Tier, int]) -> Rest | None:
    """Return what fills no whole nodes in any plan no worse than some values in the tiers above."""
    return _rest(instance, tier, evicts=most_evictions(instance, above) > 0)


@lru_cache(maxsize=16)
def _rest(instance: Instance, tier: Tier, *, evicts: bool) -> Rest | None:
    """Pods of whole units may come and go; others have to stay placed, on nodes that count."""
    nodes, counts = instance.nodes, counted(instance, tier)
    offers = [nodes[n].gpu_milli for n in counts]
    unit = gcd(*offers)
    if not unit or not gpus_within_capacity(instance):
        return None
    odd = [podset for podset in instance.podsets if podset.gpu_milli % unit]
    if any(not p.running or (evicts and p.index in evictable(instance)) for p in odd):
        return None
    eligible, everywhere = instance.on(Rule.ELIGIBILITY), frozenset(range(len(nodes)))
    elsewhere = {spot.node for podset in odd for spot in podset.current} - counts
    for podset in odd:
        reached = podset.allowed if eligible else everywhere
        elsewhere |= {n for n in reached - counts if nodes[n].gpu_milli}
    free = -sum(podset.count * podset.gpu_milli for podset in odd) % unit
    if elsewhere or not free:
        return None
    return Rest(unit, gcd(unit, *(podset.gpu_milli for podset in odd)), free, max(offers))


def gpus_within_capacity(instance: Instance) -> bool:
    """Whether no node has more GPUs taken than it offers, now and in any plan."""
    if not (instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES)):
        return False
    loads, gpus = standing_loads(instance), [r for r, _ in gpus_among(instance.resources)]
    for node, load, taken in zip(instance.nodes, loads.node, loads.device, strict=True):
        offers: list[tuple[Sequence[int | None], Sequence[int]]] = [(node.capacity, load)]
        offers += zip((device.capacity for device in node.devices), taken, strict=True)
        for limits, used in offers:
            if any((limit := limits[r]) is None or used[r] > limit for r in gpus):
                return False
    return True
