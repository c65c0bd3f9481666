"""M6 fragmented nodes (GFR)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import gcd

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.schema.quantity import gpu_milli
from kantopt.verify.departures import evictable, most_evictions, most_moves
from kantopt.verify.step import Loads, Step


def node_gpus_used(step: Step) -> list[int]:
    """Milli-GPU that pods hold on each node."""
    used = [0] * len(step.instance.nodes)
    for s, spots in enumerate(step.after.podsets):
        gpus = step.instance.podsets[s].gpu_milli
        if gpus:
            for spot, pods in spots.items():
                used[spot.node] += pods * gpus
    return used


def measure_fragmented_nodes(tier: Tier, step: Step) -> int:
    """Nodes that count, of which some GPUs are taken and some are free."""
    used, nodes = node_gpus_used(step), step.instance.nodes
    return sum(0 < used[n] < nodes[n].gpu_milli for n in counted(step.instance, tier))


def bound_fragmented_nodes(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Nodes in part now, less those that change, two a move; 1 if what is taken fills no nodes.

    A binding or eviction changes one.
    """
    now = measure_fragmented_nodes(tier, Step(instance, instance.current, instance.current))
    waiting = sum(p.count for p in instance.podsets if not p.running and p.gpu_milli)
    moves, evictions = most_moves(instance, above), most_evictions(instance, above)
    left = _left_over(instance, tier, evicts=evictions > 0)
    return max(int(left), now - 2 * moves - evictions - waiting)


@lru_cache(maxsize=16)
def _left_over(instance: Instance, tier: Tier, *, evicts: bool) -> bool:
    """Whether what is taken fills no whole nodes, whoever moves, comes or goes.

    What the nodes that count offer are multiples of a unit. Were each of them full or empty, what
    is taken would be one as well. Pods of whole units change nothing of that, come or go.
    """
    nodes, counts = instance.nodes, counted(instance, tier)
    unit = gcd(*(nodes[n].gpu_milli for n in counts))
    if not unit or not _within_capacity(instance):
        return False
    odd = [podset for podset in instance.podsets if podset.gpu_milli % unit]
    if any(not p.running or (evicts and p.index in evictable(instance)) for p in odd):
        return False
    elsewhere = {spot.node for podset in odd for spot in podset.current} - counts
    elsewhere |= {n.index for n in nodes if n.usable and n.gpu_milli and n.index not in counts}
    return not elsewhere and sum(p.count * p.gpu_milli for p in odd) % unit > 0


def _within_capacity(instance: Instance) -> bool:
    """Whether no node has more GPUs taken than it offers, now and in any plan."""
    if not (instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES)):
        return False
    loads = Loads.of(instance, instance.current)
    gpus = [r for r, name in enumerate(instance.resources) if gpu_milli(name, 1)]
    for node, load, taken in zip(instance.nodes, loads.node, loads.device, strict=True):
        offers: list[tuple[Sequence[int | None], Sequence[int]]] = [(node.capacity, load)]
        offers += zip((device.capacity for device in node.devices), taken, strict=True)
        for limits, used in offers:
            if any((limit := limits[r]) is None or used[r] > limit for r in gpus):
                return False
    return True
