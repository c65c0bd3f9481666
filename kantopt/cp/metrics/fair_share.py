"""M23 fair share."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier


def fair_share_expr(m: Variables, tier: Tier) -> LinearExprT:
    """GPUs that queues have less than they want and their weight entitles them to; at least."""
    return weighted(
        [(_short(m, q, milli), 1) for q, milli in enumerate(m.instance.entitled) if milli]
    )


def _short(m: Variables, q: int, entitled: int) -> IntVar:
    def make() -> IntVar:
        short = m.cp.new_int_var(0, entitled, f"short[{q}]")
        held: Terms = [
            (m.total(podset.index), podset.gpu_milli)
            for podset in m.instance.podsets
            if podset.gpu_milli and m.instance.jobs[podset.job].owner == q
        ]
        m.cp.add(short >= entitled - weighted(held))
        return short

    return m.once(("short", q), make)
