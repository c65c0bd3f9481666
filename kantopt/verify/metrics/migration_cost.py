"""M22 migration cost."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.departures import fewest_departures, may_move, most_evictions
from kantopt.verify.bounds.required_nodes import least_to_clear
from kantopt.verify.step import Step


def measure_migration_cost(tier: Tier, step: Step) -> int:
    """Memory that moves copy, in MiB: of live ones again what pods write meanwhile."""
    return sum(
        podset.migration_mib * step.moved(podset.index)
        for podset in step.changed_podsets
        if podset.migration_mib and tier.concerns(step.instance.jobs[podset.job])
    )


def bound_migration_cost(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Memory of as many pods as must move, those that cost least.

    So many must leave nodes or domains to empty as many as the tiers above ask for; of these some
    may be evicted. Of one priority alone nothing is known. Or memory of those that must leave nodes
    for required jobs: see :mod:`kantopt.verify.bounds.required_nodes`.
    """
    cleared = least_to_clear(tier, instance, above)
    if tier.priority is not None:
        return cleared
    left = max(0, fewest_departures(instance, above) - most_evictions(instance, above))
    total = 0
    for mib, pods in sorted(
        (podset.migration_mib, podset.count)
        for podset in instance.podsets
        if podset.running and may_move(instance, podset)
    ):
        moved = min(pods, left)
        total += mib * moved
        left -= moved
    return max(total, cleared)
