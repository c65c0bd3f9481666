"""M3 moves."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.step import Step


def measure_moves(tier: Tier, step: Step) -> int:
    """Running pods that change their node or device."""
    return sum(
        step.moved(podset.index)
        for podset in step.instance.podsets
        if podset.running and tier.priority in (None, step.instance.jobs[podset.job].priority)
    )


def bound_moves(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: arithmetic knows no plan that must move a pod."""
    return 0
