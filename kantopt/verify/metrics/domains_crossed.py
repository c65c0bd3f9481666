"""M5 domains crossed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kantopt.problem.instance import Instance
from kantopt.problem.job import TopologyNeed
from kantopt.problem.tiers import Tier
from kantopt.verify.fewest import fewest_domains
from kantopt.verify.rules.topology import domains_used
from kantopt.verify.step import Step


@lru_cache(maxsize=100_000)
def fewest_for_need(instance: Instance, need: TopologyNeed) -> int:
    """Fewest domains of the preferred level that hold the need's least members, cluster empty."""
    if need.preferred is None:
        return 1
    regions = [domain.nodes for domain in instance.topology.domains[need.preferred]]
    return max(
        fewest_domains(instance, instance.jobs[need.job], role, regions) for role in need.roles
    )


def measure_domains_crossed(tier: Tier, step: Step) -> int:
    """Preferred domains that placed jobs use beyond the fewest that could hold them."""
    crossed = 0
    for need in step.instance.topology_needs:
        if need.preferred is not None:
            used = len(domains_used(step.instance, need, need.preferred, step.after))
            if used:
                crossed += max(0, used - fewest_for_need(step.instance, need))
    return crossed


def bound_domains_crossed(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: at best every job uses the fewest domains."""
    return 0
