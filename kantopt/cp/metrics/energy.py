"""M20 energy."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.metrics.nodes_in_use import counted_on, fees_in_use
from kantopt.cp.variables import Variables, weighted
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier


def energy_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Power that nodes draw which count and are in use, in milliwatts: idle, and by GPU held."""
    nodes, podsets = m.instance.nodes, m.instance.podsets
    terms = fees_in_use(m, tier)
    for n in sorted(counted(m.instance, tier)):
        for s, var in counted_on(m, n) if nodes[n].power_per_gpu else ():
            if podsets[s].gpu_milli:
                terms.append((var, podsets[s].gpu_milli * nodes[n].power_per_gpu))
    return weighted(terms)
