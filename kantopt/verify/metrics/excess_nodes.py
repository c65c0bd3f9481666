"""M10 nodes used over the minimum (JTTED's D_node)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.fewest import fewest_of_level
from kantopt.verify.step import Step


def excess_nodes(tier: Tier, instance: Instance, placement: Placement) -> Counter[int]:
    """Nodes that each placed gang uses beyond the fewest that could hold it."""
    return beyond_fewest(instance, placement, None)


def beyond_fewest(instance: Instance, placement: Placement, level: int | None) -> Counter[int]:
    """Domains of a level, or nodes if it is ``None``, that placed gangs use beyond the fewest."""
    excess = Counter[int]()
    group_of = range(len(instance.nodes)) if level is None else instance.topology.domain_of[level]
    for job in instance.jobs:
        used = {group_of[spot.node] for s in job.podsets for spot in placement.podsets[s]}
        if len(used) > 1 and job.is_gang:  # one is never over the fewest
            excess[job.index] = max(0, len(used) - fewest_of_level(instance, job.index, level))
    return excess


def measure_excess_nodes(tier: Tier, step: Step) -> int:
    """Nodes that placed gangs use beyond the fewest that could hold them."""
    return excess_nodes(tier, step.instance, step.after).total()


def bound_excess_nodes(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: at best every gang uses the fewest nodes."""
    return 0
