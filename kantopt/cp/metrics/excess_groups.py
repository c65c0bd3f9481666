"""M11 groups used over the minimum (JTTED's D_group)."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.metrics.excess_nodes import touched
from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.fewest import fewest_of_level


def excess_groups_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Topology domains that placed gangs use beyond the fewest that could hold them."""
    if tier.level is None:
        return 0
    terms: Terms = []
    group_of = list(m.instance.topology.domain_of[tier.level])
    for job in m.instance.jobs:
        if job.is_gang:
            touches = touched(m, job, group_of, f"group{tier.level}")
            fewest = fewest_of_level(m.instance, job.index, tier.level)
            if len(touches) > fewest:
                key = ("groups", tier.level, job.index)
                excess = weighted(touches) - fewest
                terms.append((m.at_least(key, excess, len(touches) - fewest), 1))
    return weighted(terms)
