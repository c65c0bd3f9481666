"""M8 nodes in use."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier


def nodes_in_use_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Nodes with at least one pod."""
    terms: Terms = []
    for n, on_node in enumerate(m.on_node):
        if on_node:
            most = sum(m.instance.podsets[s].count for s, _, _ in on_node)
            pods = weighted([(var, 1) for _, var, _ in on_node])
            terms.append((m.positive(("in_use", n), pods, most), 1))
    return weighted(terms)
