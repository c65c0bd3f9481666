"""M9 allocation (GAR)."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Variables, weighted
from kantopt.problem.tiers import Tier


def allocation_expr(m: Variables, tier: Tier) -> LinearExprT:
    """GPUs of the cluster that no pod holds."""
    offered = sum(node.gpu_milli for node in m.instance.nodes)
    placed = weighted([(m.total(p.index), p.gpu_milli) for p in m.instance.podsets if p.gpu_milli])

    def make() -> IntVar:
        free = m.cp.new_int_var(0, offered, "unallocated")
        m.cp.add(free >= offered - placed)
        return free

    return m.once("unallocated", make)
