"""M6 fragmented nodes (GFR)."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.departures import most_evictions, most_moves
from kantopt.verify.bounds.whole_nodes import rest_of
from kantopt.verify.step import Step


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
    rest = rest_of(instance, tier, above)
    return max(int(rest is not None), now - 2 * moves - evictions - waiting)
