"""M2 evictions."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.left_out import least_left_out
from kantopt.verify.metrics.unplaced import bound_unplaced, core
from kantopt.verify.step import Step


def measure_evictions(tier: Tier, step: Step) -> int:
    """Cost of the pods evicted; a job with disruptionMode all costs once.

    Or, of a tier that counts pods, their number.
    """
    cost = 0
    for job in step.changed_jobs:
        if not tier.concerns(job):
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
    """Evictions that it takes to leave out as much as the tiers above must and no more jobs.

    See :mod:`kantopt.verify.left_out`; each priority by itself, and where some of its jobs are
    counted apart these by themselves.
    """
    what = "pods" if tier.counts_pods else "cost"

    def fewest(priority: int, preempts: bool | None) -> int:
        return least_left_out(instance, above, priority, what, bound_unplaced, core, preempts)

    priorities = instance.priorities if tier.priority is None else (tier.priority,)
    return sum(max(fewest(p, None), fewest(p, True) + fewest(p, False)) for p in priorities)
