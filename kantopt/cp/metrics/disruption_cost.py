"""M4 disruption cost."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier


def disruption_cost_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Two for each evicted and one for each moved pod."""
    terms: Terms = []
    for podset in m.instance.podsets:
        if podset.running and tier.concerns(m.instance.jobs[podset.job]):
            terms += [(m.evicted(podset.index), 2), (m.arrived(podset.index), 1)]
    return weighted(terms)
