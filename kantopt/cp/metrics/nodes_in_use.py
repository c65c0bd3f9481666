"""M8 nodes in use."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier


def nodes_in_use_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Nodes that count, with at least one pod that is no daemon's."""
    terms: Terms = []
    for n in sorted(counted(m.instance, tier)):
        on_node = counted_on(m, n)
        if on_node:
            most = sum(m.instance.podsets[s].count for s, _ in on_node)
            pods = weighted([(var, 1) for _, var in on_node])
            terms.append((m.positive(("in_use", n), pods, most), 1))
    return weighted(terms)


def counted_on(m: Variables, n: int) -> list[tuple[int, IntVar]]:
    """Pod sets and counts of pods on a node that keep it in use."""
    return [(s, var) for s, var, _ in m.on_node[n] if not m.instance.podsets[s].daemon]
