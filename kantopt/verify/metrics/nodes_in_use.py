"""M8 nodes in use."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.departures import fewest_in_use
from kantopt.verify.step import Step


def measure_nodes_in_use(tier: Tier, step: Step) -> int:
    """Nodes that count, with at least one pod that is no daemon's."""
    return len(used_nodes(tier, step))


def used_nodes(tier: Tier, step: Step) -> set[int]:
    """Nodes that a tier counts, with at least one pod that is no daemon's."""
    podsets = zip(step.instance.podsets, step.after.podsets, strict=True)
    used = {spot.node for podset, spots in podsets if not podset.daemon for spot in spots}
    return used & counted(step.instance, tier)


def bound_nodes_in_use(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Nodes in use now, less those that may be emptied: each takes all its pods to leave.

    A node with a pod that can neither be evicted nor moved stays in use, and as many nodes as hold
    the pods that cannot be evicted.
    """
    return fewest_in_use(instance, tier, above)
