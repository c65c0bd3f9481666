"""M2 evictions."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier


def evictions_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Cost of the pods evicted; a job with disruptionMode all costs once."""
    terms: Terms = []
    for job in m.instance.jobs:
        if not tier.concerns(job):
            continue
        running = m.instance.running_of(job.index)
        if tier.counts_pods:
            terms += [(m.evicted(s), 1) for s in running]
        elif job.all_victims and running:
            terms.append((m.evicts_any(job.index), job.disruption_cost))
        else:
            terms += [(m.evicted(s), m.instance.podsets[s].disruption_cost) for s in running]
    return weighted(terms)
