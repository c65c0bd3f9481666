"""M17 undrained."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Variables, weighted
from kantopt.problem.tiers import Tier


def undrained_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Pods that stay on nodes to be emptied; see ``PodSet.is_drained``."""
    podsets = m.instance.podsets
    return weighted(
        [
            (var, 1)
            for n in sorted(m.instance.drained)
            for s, var, _ in m.on_node[n]
            if podsets[s].is_drained
        ]
    )
