"""M22 migration cost."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Variables, weighted
from kantopt.problem.tiers import Tier


def migration_cost_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Memory that moves copy, in MiB: of live ones again what pods write meanwhile."""
    return weighted(
        [
            (m.arrived(podset.index), podset.migration_mib)
            for podset in m.instance.podsets
            if podset.migration_mib and tier.concerns(m.instance.jobs[podset.job])
        ]
    )
