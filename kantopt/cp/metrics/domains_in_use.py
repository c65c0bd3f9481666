"""M14 domains in use."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.metrics.nodes_in_use import counted_on
from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier
from kantopt.verify.in_use import groups_of


def domains_in_use_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Domains of a topology level with at least one pod that is no daemon's on nodes that count."""
    pods: dict[int, Terms] = {}
    most: dict[int, int] = {}
    for n, domain in enumerate(groups_of(m.instance, tier)):
        if domain is not None:
            for s, var in counted_on(m, n):
                pods.setdefault(domain, []).append((var, 1))
                most[domain] = most.get(domain, 0) + m.instance.podsets[s].count
    which = (tier.level, tier.selector, tier.offers)
    return weighted(
        [
            (m.positive(("in_use", *which, domain), weighted(terms), most[domain]), 1)
            for domain, terms in pods.items()
        ]
    )
