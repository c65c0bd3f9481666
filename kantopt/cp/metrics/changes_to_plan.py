"""M24 changes_to_plan."""

from __future__ import annotations

from collections.abc import Iterator

from ortools.sat.python.cp_model import IntVar, LinearExprT

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
        yield missed if most <= pods else _positive(m, (s, n), missed, pods)
    total = sum(wanted.values())
    if podset.running and total < podset.count:
        yield _positive(m, (s, "placed"), m.placed(s) - total, podset.count - total)


def _positive(m: Variables, key: tuple[int, int | str], expr: LinearExprT, most: int) -> IntVar:
    """Return what an expression of at most ``most`` is above 0."""

    def make() -> IntVar:
        over = m.cp.new_int_var(0, most, f"missed[{key[0]},{key[1]}]")
        m.cp.add(over >= expr)
        return over

    return m.once(("missed", *key), make)
