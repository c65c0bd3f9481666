"""M8 nodes in use."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.departures import may_leave, most_evictions, most_moves
from kantopt.verify.step import Step


def measure_nodes_in_use(tier: Tier, step: Step) -> int:
    """Nodes with at least one pod."""
    return len({spot.node for spots in step.after.podsets for spot in spots})


def bound_nodes_in_use(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Nodes in use now, less those that may be emptied: each takes all its pods to leave.

    A node with a pod that can neither be evicted nor moved stays in use.
    """
    pods: dict[int, int] = {}
    stays: set[int] = set()
    for podset in instance.podsets:
        for spot, number in podset.current.items():
            pods[spot.node] = pods.get(spot.node, 0) + number
            if not may_leave(instance, podset):
                stays.add(spot.node)
    left = most_moves(instance, above) + most_evictions(instance, above)
    in_use = len(pods)
    for number in sorted(number for n, number in pods.items() if n not in stays):
        if number > left:
            break
        left -= number
        in_use -= 1
    return in_use
