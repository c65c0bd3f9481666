"""M2 evictions."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.step import Step


def measure_evictions(tier: Tier, step: Step) -> int:
    """Cost of the pods evicted; a job with disruptionMode all costs once.

    Or, of a tier that counts pods, their number.
    """
    cost = 0
    for job in step.instance.jobs:
        if tier.priority not in (None, job.priority):
            continue
        evicted = [(s, step.evicted(s)) for s in job.podsets if step.evicted(s)]
        if tier.counts_pods:
            cost += sum(k for _, k in evicted)
        elif job.all_victims:
            cost += job.disruption_cost if evicted else 0
        else:
            cost += sum(step.instance.podsets[s].disruption_cost * k for s, k in evicted)
    return cost


def bound_evictions(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: arithmetic knows no plan that must evict."""
    return 0
