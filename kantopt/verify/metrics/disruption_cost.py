"""M4 disruption cost."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.departures import fewest_departures
from kantopt.verify.bounds.required_nodes import least_to_clear
from kantopt.verify.step import Step


def measure_disruption_cost(tier: Tier, step: Step) -> int:
    """Two for each evicted and one for each moved pod."""
    return sum(
        2 * step.evicted(podset.index) + step.moved(podset.index)
        for podset in step.changed_podsets
        if podset.running and tier.concerns(step.instance.jobs[podset.job])
    )


def bound_disruption_cost(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Pods that must leave nodes or domains to empty as many as the tiers above ask for.

    Of one priority alone nothing is known. Or those that must leave nodes for required jobs: see
    :mod:`kantopt.verify.bounds.required_nodes`.
    """
    cleared = least_to_clear(tier, instance, above)
    if tier.priority is not None:
        return cleared
    return max(cleared, fewest_departures(instance, above))
