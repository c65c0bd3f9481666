"""M8 nodes in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.departures import may_leave, most_evictions, most_moves
from kantopt.verify.step import Step


def measure_nodes_in_use(tier: Tier, step: Step) -> int:
    """Nodes with at least one pod that is no daemon's."""
    return len(used_nodes(step))


def used_nodes(step: Step) -> set[int]:
    """Nodes with at least one pod that is no daemon's."""
    podsets = zip(step.instance.podsets, step.after.podsets, strict=True)
    return {spot.node for podset, spots in podsets if not podset.daemon for spot in spots}


def bound_nodes_in_use(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Nodes in use now, less those that may be emptied: each takes all its pods to leave.

    A node with a pod that can neither be evicted nor moved stays in use.
    """
    return fewest_in_use(instance, range(len(instance.nodes)), above)


def fewest_in_use(
    instance: Instance, group_of: Sequence[int | None], above: Mapping[Tier, int]
) -> int:
    """Return how many groups of nodes stay in use: those that limits and pins keep from emptying.

    ``group_of`` each node; what is in no group is not counted.
    """
    pods: dict[int, int] = {}
    stays: set[int] = set()
    for podset in instance.podsets:
        if podset.daemon:
            continue
        for spot, number in podset.current.items():
            group = group_of[spot.node]
            if group is not None:
                pods[group] = pods.get(group, 0) + number
                if not may_leave(instance, podset):
                    stays.add(group)
    left = most_moves(instance, above) + most_evictions(instance, above)
    in_use = len(pods)
    for number in sorted(number for group, number in pods.items() if group not in stays):
        if number > left:
            break
        left -= number
        in_use -= 1
    return in_use
