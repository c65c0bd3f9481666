"""M3 moves."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Variables, weighted
from kantopt.problem.tiers import Tier


def moves_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Running pods that change their node or device."""
    return weighted(
        [
            (m.arrived(podset.index), 1)
            for podset in m.instance.podsets
            if podset.running and tier.concerns(m.instance.jobs[podset.job])
        ]
    )
