"""M17 undrained."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.metrics.nodes_in_use import counted_on
from kantopt.cp.variables import Variables, weighted
from kantopt.problem.tiers import Tier


def undrained_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Pods that stay on nodes to be emptied; daemons belong to theirs."""
    drained = sorted(m.instance.drained)
    return weighted([(var, 1) for n in drained for _, var in counted_on(m, n)])
