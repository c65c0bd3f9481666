"""M16 displaced."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

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
            every = weighted([term for each in there for term in each])
            mass = core(tier, m.instance, job)
            key = ("displaced", job.index, -1, tier.unit)
            terms.append((m.at_least(key, mass - every, max(0, mass)), 1))
        else:
            for i, (role, each) in enumerate(zip(job.roles, there, strict=True)):
                least = weights[i] * role.min_count
                key = ("displaced", job.index, i, tier.unit)
                terms.append((m.at_least(key, least - weighted(each), least), 1))
    return weighted(terms) + constant
