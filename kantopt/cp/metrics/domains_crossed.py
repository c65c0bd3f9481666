"""M5 domains crossed."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.rules.topology import add_touches
from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.fewest import fewest_of_level


def domains_crossed_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Preferred domains that placed jobs use beyond the fewest that could hold them."""
    terms: Terms = []
    for need in m.instance.topology_needs:
        if need.preferred is not None:
            touches = add_touches(m, need, need.preferred)
            fewest = fewest_of_level(m.instance, need.job, need.preferred, need.roles)
            if len(touches) > fewest:
                excess = weighted(touches) - fewest
                key = ("crossed", need.index)
                terms.append((m.at_least(key, excess, len(touches) - fewest), 1))
    return weighted(terms)
