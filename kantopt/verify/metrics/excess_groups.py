"""M11 groups used over the minimum (JTTED's D_group)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics.excess_nodes import beyond_fewest
from kantopt.verify.step import Step


def excess_groups(tier: Tier, instance: Instance, placement: Placement) -> Counter[int]:
    """Topology domains that each placed gang uses beyond the fewest that could hold it."""
    return Counter() if tier.level is None else beyond_fewest(instance, placement, tier.level)


def measure_excess_groups(tier: Tier, step: Step) -> int:
    """Topology domains that placed gangs use beyond the fewest that could hold them."""
    return excess_groups(tier, step.instance, step.after).total()


def bound_excess_groups(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: at best every gang uses the fewest groups."""
    return 0
