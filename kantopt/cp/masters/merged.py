"""Fewest evictions if all nodes were one: a knapsack with a row per resource.

What fits on the nodes fits on one that offers as much as all of them: no plan evicts less.
"""

from __future__ import annotations

from collections.abc import Sequence

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import CpModel, LinearExpr

from kantopt.cp.masters.patterns import Groups, Weights
from kantopt.cp.solver import solver_of

WORK = 1.0
"""Most deterministic seconds of the solver; it hardly ever takes a hundredth of that."""


def merged_bound(ask: Sequence[Sequence[int]], room: Sequence[int], groups: Groups) -> int:
    """Return a lower bound on the objective; of pods that leave only those evicted are counted.

    Parameters
    ----------
    ask
        Requests by resource and group.
    room
        What all nodes together can give their pods, by resource.

    Raises
    ------
    ValueError
        If nothing respects the locks, not even on one node.
    """
    cp, count, low = CpModel(), groups.count, groups.low
    placed = [cp.new_int_var(a, b, "") for a, b in zip(low, count, strict=True)]
    evicted = []
    for z, here, least in zip(placed, groups.running, low, strict=True):
        gone = cp.new_int_var(0, max(0, here - least), "")
        cp.add_max_equality(gone, [0, here - z])
        evicted.append(gone)
    for row, limit in zip(ask, room, strict=True):
        cp.add(LinearExpr.weighted_sum(placed, list(row)) <= limit)

    def total(weights: Weights) -> LinearExpr:
        cost = [max(0, a + b) for a, b in zip(weights.out, weights.evicted, strict=True)]
        missing = LinearExpr.weighted_sum(placed, [-w for w in weights.missing])
        constant = sum(w * k for w, k in zip(weights.missing, count, strict=True))
        return LinearExpr.weighted_sum(evicted, cost) + missing + constant

    for lock in groups.locks:
        cp.add(total(lock) <= lock.limit)
    cp.minimize(total(groups.objective))
    solver = solver_of(work=WORK)
    if solver.solve(cp) == cp_model.INFEASIBLE:
        raise ValueError("no plan keeps the values of the tiers above")
    return max(0, round(solver.best_objective_bound))
