"""M19 cost."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.metrics.nodes_in_use import fees_in_use
from kantopt.cp.variables import Variables, weighted
from kantopt.problem.tiers import Tier


def cost_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Price of the nodes that count and have a pod that is no daemon's, in millionths."""
    return weighted(fees_in_use(m, tier))
