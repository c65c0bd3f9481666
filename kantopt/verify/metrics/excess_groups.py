"""M11 groups used over the minimum (JTTED's D_group)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.fewest import fewest_domains
from kantopt.verify.step import Step


@kept_with_instance(most=100_000)
def fewest_groups(instance: Instance, job: Job, level: int) -> int:
    """Fewest domains of a level that hold a gang's least members on an empty cluster."""
    regions = [domain.nodes for domain in instance.topology.domains[level]]
    return max(fewest_domains(instance, job, role, regions) for role in range(len(job.roles)))


def excess_groups(tier: Tier, instance: Instance, placement: Placement) -> Counter[int]:
    """Topology domains that each placed gang uses beyond the fewest that could hold it."""
    excess = Counter[int]()
    if tier.level is None:
        return excess
    domain_of = instance.topology.domain_of[tier.level]
    for job in instance.jobs:
        used = {domain_of[spot.node] for s in job.podsets for spot in placement.podsets[s]}
        if len(used) > 1 and job.is_gang:  # one is never over the fewest
            excess[job.index] = max(0, len(used) - fewest_groups(instance, job, tier.level))
    return excess


def measure_excess_groups(tier: Tier, step: Step) -> int:
    """Topology domains that placed gangs use beyond the fewest that could hold them."""
    return excess_groups(tier, step.instance, step.after).total()


def bound_excess_groups(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: at best every gang uses the fewest groups."""
    return 0
