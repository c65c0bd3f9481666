"""M21 balance."""

from __future__ import annotations

from math import gcd

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics.balance import WHOLE, excess, shares_of


def balance_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Load of nodes that count above a target share, in thousandths of a node; at least that."""
    terms: Terms = []
    for n, r, capacity in shares_of(tier, m.instance):
        if any(m.instance.podsets[s].requests[r] for s, _, _ in m.on_node[n]):
            terms.append((_above(m, n, r, capacity, tier.size), 1))
    return weighted(terms)


def _above(m: Variables, n: int, r: int, capacity: int, target: int) -> IntVar:
    def make() -> IntVar:
        asked = sum(podset.count * podset.requests[r] for podset in m.instance.podsets)
        share = m.cp.new_int_var(0, excess(asked, capacity, target), f"above[{n},{r},{target}]")
        unit = gcd(m.unit[r], capacity)
        per_load, per_share = m.unit[r] // unit, capacity // unit
        load = WHOLE * per_load * m.node_load(n, r)
        m.cp.add(per_share * share >= load - target * per_share)
        return share

    return m.once(("above", n, r, target), make)
