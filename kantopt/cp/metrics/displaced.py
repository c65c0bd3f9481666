"""M16 displaced."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics.displaced import running_part
from kantopt.verify.metrics.unplaced import core, role_weights, whole


def displaced_expr(m: Variables, tier: Tier) -> LinearExprT:
    """What runs now and is evicted, as far as its job cannot do without; at least that."""
    terms: Terms = []
    constant = 0
    for job in running_part(m.instance, tier):
        weights = role_weights(tier, m.instance, job)
        there: list[Terms] = [
            [(m.role_placed(role.podsets), w)] for w, role in zip(weights, job.roles, strict=True)
        ]
        if not job.is_gang:
            constant += whole(tier, m.instance, job)
            terms += [(placed, -w) for each in there for placed, w in each]
        elif job.min_count:
            every = [term for each in there for term in each]
            mass = core(tier, m.instance, job)
            terms.append((_short(m, tier, job.index, every, mass), 1))
        else:
            for i, (role, each) in enumerate(zip(job.roles, there, strict=True)):
                least = weights[i] * role.min_count
                terms.append((_short(m, tier, job.index, each, least, i), 1))
    return weighted(terms) + constant


def _short(m: Variables, tier: Tier, j: int, placed: Terms, least: int, role: int = -1) -> IntVar:
    """By how much less is placed than there must be."""

    def make() -> IntVar:
        short = m.cp.new_int_var(0, max(0, least), f"displaced[{j},{role}]")
        m.cp.add(short >= least - weighted(placed))
        return short

    return m.once(("displaced", j, role, tier.unit), make)
