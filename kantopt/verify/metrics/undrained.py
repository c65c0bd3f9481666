"""M17 undrained."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.departures import may_leave, most_evictions, most_moves
from kantopt.verify.step import Step


def measure_undrained(tier: Tier, step: Step) -> int:
    """Pods that stay on nodes to be emptied; daemons belong to theirs."""
    drained = step.instance.drained
    return sum(
        pods
        for podset, spots in zip(step.instance.podsets, step.after.podsets, strict=True)
        if drained and not podset.daemon
        for spot, pods in spots.items()
        if spot.node in drained
    )


def bound_undrained(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Pods there that can neither move nor be evicted, and those beyond what limits let go."""
    there = {
        podset.index: sum(k for x, k in podset.current.items() if x.node in instance.drained)
        for podset in instance.podsets
        if not podset.daemon
    }
    stay = sum(k for s, k in there.items() if not may_leave(instance, instance.podsets[s]))
    left = most_moves(instance, above) + most_evictions(instance, above)
    return max(stay, sum(there.values()) - left)
