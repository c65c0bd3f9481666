"""M5 domains crossed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.fewest import fewest_of_level
from kantopt.verify.rules.topology import domains_used
from kantopt.verify.step import Step


def domains_crossed(tier: Tier, instance: Instance, placement: Placement) -> Counter[int]:
    """Preferred domains that each placed job uses beyond the fewest that could hold it."""
    crossed = Counter[int]()
    for need in instance.topology_needs:
        if need.preferred is not None:
            used = len(domains_used(instance, need, need.preferred, placement.podsets))
            if used > 1:  # one is never over the fewest
                fewest = fewest_of_level(instance, need.job, need.preferred, need.roles)
                crossed[need.job] += max(0, used - fewest)
    return crossed


def measure_domains_crossed(tier: Tier, step: Step) -> int:
    """Preferred domains that placed jobs use beyond the fewest that could hold them."""
    return domains_crossed(tier, step.instance, step.after).total()


def bound_domains_crossed(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: at best every job uses the fewest domains."""
    return 0
