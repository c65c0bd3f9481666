"""M24 changes_to_plan."""

from __future__ import annotations

from collections.abc import Iterator

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.problem.wanted import wanted_of


def changes_to_plan_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Pods that are not where the last plan wants them; of running ones, nowhere is a place."""
    terms: Terms = []
    for podset in m.instance.podsets:
        if podset.wanted is not None or (podset.running and not m.may.fixed(podset.index)):
            terms += [(term, 1) for term in _missed(m, podset)]
    return weighted(terms)


def _missed(m: Variables, podset: PodSet) -> Iterator[LinearExprT]:
    s, wanted = podset.index, wanted_of(podset)
    for n, pods in wanted.items():
        here: Terms = [(var, 1) for spot, var in m.stay[s].items() if spot.node == n]
        most = sum(k for spot, k in podset.current.items() if spot.node == n)
        if n in m.arrive[s]:
            here.append((m.arrive[s][n], 1))
            most = podset.count
        missed = pods - weighted(here)
        yield missed if most <= pods else m.at_least(("missed", s, n), missed, pods)
    total = sum(wanted.values())
    if podset.running and total < podset.count:
        yield m.at_least(("missed", s, "placed"), m.placed(s) - total, podset.count - total)
