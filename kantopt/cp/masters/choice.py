"""Which of the known patterns of change should each node take? With yes or no.

A set packing with few rows and a tight linear program: branch and bound on the linear program
(SCIP) solves in a second what CP-SAT does not solve in ten. It computes in floats; what it says is
a proposal that has to be judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from kantopt.cp.masters.patterns import Counts, Groups, net_of


@dataclass(frozen=True, slots=True)
class Choices:
    """Patterns to choose from, one for each node at most, and what the choice has to respect."""

    patterns: Sequence[tuple[int, Counts, Counts]]
    """Node, outs and ins."""
    nodes: int
    groups: Groups


def choose(
    choices: Choices,
    start: tuple[Sequence[int], Sequence[int]],
    *,
    seconds: float | None = None,
    steps: int | None = None,
) -> list[int] | None:
    """Choose the patterns of least cost.

    Parameters
    ----------
    start
        Patterns that make a choice already, by index, and the pods that are then placed per group.
    seconds, steps
        Limits of the search: by the clock, in nodes of the search tree.

    Returns
    -------
    list of int or None
        Indices of the patterns chosen; ``None`` if none were found.
    """
    mip = pywraplp.Solver.CreateSolver("SCIP")
    if seconds is not None:
        mip.SetTimeLimit(max(1, int(1000 * seconds)))
    if steps is not None:
        mip.SetSolverSpecificParametersAsString(f"limits/nodes = {steps}\n")
    infinity = mip.infinity()
    cost = mip.Objective()
    cost.SetMinimization()
    groups = choices.groups
    limit = mip.Constraint(-infinity, float(groups.objective.limit))
    rows = [(limit, groups.objective)]
    rows += [(mip.Constraint(-infinity, float(lock.limit)), lock) for lock in groups.locks]
    take = [mip.Constraint(-infinity, 1.0) for _ in range(choices.nodes)]
    arrive = [mip.Constraint(float(-here), infinity) for here in groups.running]
    chosen: list[pywraplp.Variable] = []
    hints: list[tuple[pywraplp.Variable, float]] = []
    known = set(start[0])
    for node, outs, ins in choices.patterns:
        x = mip.BoolVar("")
        hints.append((x, float(len(chosen) in known)))
        chosen.append(x)
        take[node].SetCoefficient(x, 1.0)
        for g, k in net_of(outs, ins).items():
            arrive[g].SetCoefficient(x, float(k))
        for row, weights in rows:
            amount = sum(weights.out[g] * k for g, k in outs)
            if amount:
                row.SetCoefficient(x, float(amount))
                if row is limit:
                    cost.SetCoefficient(x, float(amount))
    constant = [0] * len(rows)
    for g, here in enumerate(groups.running):
        low, count = groups.low[g], groups.count[g]
        placed = mip.IntVar(float(low), float(count), "")
        arrive[g].SetCoefficient(placed, -1.0)
        evicted = mip.IntVar(0.0, float(max(0, here - low)), "")
        least = mip.Constraint(float(here), infinity)
        least.SetCoefficient(placed, 1.0)
        least.SetCoefficient(evicted, 1.0)
        gone = max(0, here - start[1][g])
        hints += [(placed, float(start[1][g])), (evicted, float(gone))]
        if low < here:
            # Evicted are max(0, running - placed), not more: either none, or none is new.
            some = mip.BoolVar("")
            hints.append((some, float(gone > 0)))
            none = mip.Constraint(-infinity, 0.0)
            none.SetCoefficient(evicted, 1.0)
            none.SetCoefficient(some, float(low - here))
            exact = mip.Constraint(-infinity, float(count))
            exact.SetCoefficient(placed, 1.0)
            exact.SetCoefficient(evicted, 1.0)
            exact.SetCoefficient(some, float(count - here))
        for k, (row, weights) in enumerate(rows):
            if weights.evicted[g]:
                row.SetCoefficient(evicted, float(weights.evicted[g]))
                if row is limit:
                    cost.SetCoefficient(evicted, float(weights.evicted[g]))
            if weights.missing[g]:
                row.SetCoefficient(placed, float(-weights.missing[g]))
                constant[k] += weights.missing[g] * count
    for k, (row, _) in enumerate(rows):
        row.SetUb(row.ub() - constant[k])
    mip.SetHint([x for x, _ in hints], [value for _, value in hints])
    if mip.Solve() not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
        return None
    return [i for i, x in enumerate(chosen) if x.solution_value() > 0.5]
