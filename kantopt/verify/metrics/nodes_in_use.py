"""M8 nodes in use."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.step import Step


def measure_nodes_in_use(tier: Tier, step: Step) -> int:
    """Nodes with at least one pod."""
    return len({spot.node for spots in step.after.podsets for spot in spots})


def bound_nodes_in_use(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Nodes of pods that can neither be evicted nor moved."""
    return len(
        {
            spot.node
            for podset in instance.podsets
            if not podset.preemptible and not podset.movable and instance.on(Rule.PINNED)
            for spot in podset.current
        }
    )
