"""M11 groups used over the minimum (JTTED's D_group)."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.metrics.excess_nodes import beyond_fewest
from kantopt.cp.variables import Variables
from kantopt.problem.tiers import Tier


def excess_groups_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Topology domains that placed gangs use beyond the fewest that could hold them."""
    if tier.level is None:
        return 0
    return beyond_fewest(m, list(m.instance.topology.domain_of[tier.level]), tier.level)
