"""M8 nodes in use."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier
from kantopt.verify.in_use import fees_of


def nodes_in_use_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Nodes that count, with at least one pod that is no daemon's."""
    return weighted(fees_in_use(m, tier))


def fees_in_use(m: Variables, tier: Tier) -> Terms:
    """Fee of each node that counts and has at least one pod that is no daemon's."""
    terms: Terms = []
    fees = fees_of(m.instance, tier)
    for n in sorted(counted(m.instance, tier)):
        on_node = counted_on(m, n)
        if on_node and fees[n]:
            most = sum(m.instance.podsets[s].count for s, _ in on_node)
            pods = weighted([(var, 1) for _, var in on_node])
            terms.append((m.positive(("in_use", n), pods, most), fees[n]))
    return terms


def counted_on(m: Variables, n: int) -> list[tuple[int, IntVar]]:
    """Pod sets and counts of pods on a node that keep it in use."""
    return [(s, var) for s, var, _ in m.on_node[n] if not m.instance.podsets[s].daemon]
