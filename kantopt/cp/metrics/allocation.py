"""M9 allocation (GAR)."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Variables, weighted
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics.allocation import offered_gpus


def allocation_expr(m: Variables, tier: Tier) -> LinearExprT:
    """GPUs of the nodes that count, that no pod on them holds."""
    podsets, nodes = m.instance.podsets, counted(m.instance, tier)
    offered = offered_gpus(m.instance, tier)
    if len(nodes) == len(m.instance.nodes):
        placed = weighted([(m.total(p.index), p.gpu_milli) for p in podsets if p.gpu_milli])
    else:
        placed = weighted(
            [
                (var, podsets[s].gpu_milli)
                for n in sorted(nodes)
                for s, var, _ in m.on_node[n]
                if podsets[s].gpu_milli
            ]
        )
    return m.at_least(("unallocated", tier.selector), offered - placed, offered)
