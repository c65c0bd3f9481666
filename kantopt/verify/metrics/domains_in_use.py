"""M14 domains in use."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.departures import fewest_in_use
from kantopt.verify.in_use import groups_of
from kantopt.verify.metrics.nodes_in_use import used_nodes
from kantopt.verify.step import Step


def measure_domains_in_use(tier: Tier, step: Step) -> int:
    """Domains of a topology level with at least one pod that is no daemon's on nodes that count."""
    domain_of = groups_of(step.instance, tier)
    return len({domain_of[n] for n in used_nodes(tier, step)} - {None})


def bound_domains_in_use(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Domains in use now, less those that may be emptied: each takes all its pods to leave.

    A domain with a pod that can neither be evicted nor moved stays in use, and as many domains as
    hold the pods that cannot be evicted.
    """
    return fewest_in_use(instance, tier, above)
