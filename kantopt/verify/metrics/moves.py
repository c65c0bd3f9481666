"""M3 moves."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.departures import fewest_departures, most_evictions
from kantopt.verify.bounds.required_nodes import least_to_clear
from kantopt.verify.step import Step


def measure_moves(tier: Tier, step: Step) -> int:
    """Running pods that change their node or device."""
    return sum(
        step.moved(podset.index)
        for podset in step.changed_podsets
        if podset.running and tier.concerns(step.instance.jobs[podset.job])
    )


def bound_moves(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Pods that must leave nodes or domains to empty as many as the tiers above ask for.

    Of these some may be evicted; of one priority alone nothing is known. Or those that must leave
    nodes for required jobs and may not be evicted: see
    :mod:`kantopt.verify.bounds.required_nodes`.
    """
    cleared = least_to_clear(tier, instance, above)
    if tier.priority is not None:
        return cleared
    return max(cleared, fewest_departures(instance, above) - most_evictions(instance, above))
