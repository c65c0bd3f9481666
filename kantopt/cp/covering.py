"""Which contents should nodes have, so that as many pods as possible are placed?

A linear program over contents that are listed, those that are worth something at its prices added
a few at a time (Gilmore and Gomory 1961); then whole numbers of the contents nearest to its
optimum. HiGHS is by far the quicker there: CP-SAT hardly finds its way among a thousand contents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray
from ortools.linear_solver import pywraplp

Table = NDArray[np.integer]

NEAREST = 1000
"""Contents to choose from: with more HiGHS takes long to find anything."""
_AT_ONCE = 200
"""Contents that are added to the linear program at a time."""
_TOLERANCE = 1e-6
_MISSING = 100.0
"""What one unit costs that is missing of a tier above, in those of the last tier."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Pods by kind, and what must be placed.

    Attributes
    ----------
    counts, weights
        Of each kind: number of pods, and what one counts in its tier.
    tiers, least
        Kinds of each tier, the last of which is to be placed as far as possible; weight that has to
        be placed of each tier above.
    """

    counts: Sequence[int]
    weights: Sequence[int]
    tiers: Sequence[range]
    least: Sequence[int]


def cover(
    contents: Sequence[Table],
    nodes: Sequence[int],
    demand: Demand,
    seconds: float,
    over: Callable[[], bool],
) -> list[tuple[int, int, int]] | None:
    """Choose contents of nodes.

    Parameters
    ----------
    contents, nodes
        Contents of nodes of each class, a row each, pods by kind; the number of nodes. A node may
        hold less than a content says.
    seconds
        Limit of the choice in whole numbers.

    Returns
    -------
    list[tuple[int, int, int]] or None
        Class, index of the content, number of nodes; ``None`` if nothing is found that places what
        must be placed.
    """
    found = _nearest(contents, nodes, demand, over)
    if found is None or over():
        return None
    used = _whole([(c, contents[c][i]) for c, i in found], nodes, demand, seconds)
    if used is None:
        return None
    return [(c, i, n) for (c, i), n in zip(found, used, strict=True) if n]


def _whole(
    columns: Sequence[tuple[int, Table]], nodes: Sequence[int], demand: Demand, seconds: float
) -> list[int] | None:
    """Number of nodes with each content, given with its class."""
    # Here, as the older interface forgets what HiGHS had found when its time was up.
    from ortools.math_opt.python import mathopt

    model = mathopt.Model()
    classes = [model.add_linear_constraint(ub=n) for n in nodes]
    kinds = [model.add_linear_constraint(ub=0.0) for _ in demand.counts]
    placed = [model.add_integer_variable(lb=0, ub=count) for count in demand.counts]
    for row, x in zip(kinds, placed, strict=True):
        row.set_coefficient(x, 1.0)
    taken = [model.add_integer_variable(lb=0, ub=nodes[c]) for c, _ in columns]
    for (c, content), x in zip(columns, taken, strict=True):
        classes[c].set_coefficient(x, 1.0)
        for g in np.flatnonzero(content).tolist():
            kinds[g].set_coefficient(x, -float(content[g]))
    sums = [mathopt.LinearSum(placed[g] * demand.weights[g] for g in tier) for tier in demand.tiers]
    for total, least in zip(sums, demand.least, strict=False):
        model.add_linear_constraint(total >= least)
    model.maximize(sums[-1])
    limit = mathopt.SolveParameters(time_limit=timedelta(seconds=seconds))
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=limit)
    if not result.has_primal_feasible_solution():
        return None
    return [round(value) for value in result.variable_values(taken)]


def _nearest(
    contents: Sequence[Table], nodes: Sequence[int], demand: Demand, over: Callable[[], bool]
) -> list[tuple[int, int]] | None:
    """Class and index of the contents that lower the linear program's optimum least."""
    tables = [table.astype(np.float32) for table in contents]
    program = _Program(nodes, demand)
    known: set[tuple[int, int]] = set()
    prices, worth = np.ones(len(demand.counts)), np.zeros(len(nodes))
    gains = _gains(tables, prices, worth)
    while new := [key for key in _best(gains, _AT_ONCE, above=_TOLERANCE) if key not in known]:
        if over():
            return None
        for c, i in new:
            program.add(c, contents[c][i])
        known.update(new)
        if program.solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        prices = np.array([row.dual_value() for row in program.kinds])
        worth = np.array([row.dual_value() for row in program.classes])
        gains = _gains(tables, prices, worth)
    return _best(gains, NEAREST, above=-np.inf)


def _gains(
    tables: Sequence[NDArray[np.float32]], prices: NDArray[np.float64], worth: NDArray[np.float64]
) -> list[NDArray[np.float32]]:
    """What the optimum gains by each content, at most 0 for all of them once it is reached."""
    return [
        table @ prices.astype(np.float32) - np.float32(w)
        for table, w in zip(tables, worth, strict=True)
    ]


def _best(
    gains: Sequence[NDArray[np.float32]], most: int, *, above: float
) -> list[tuple[int, int]]:
    """Class and index of the contents of greatest gain."""
    found = []
    for c, gain in enumerate(gains):
        order = np.argsort(-gain, kind="stable")[:most]
        found += [(-float(gain[i]), c, int(i)) for i in order if gain[i] > above]
    return [(c, i) for _, c, i in sorted(found)[:most]]


class _Program:
    """The linear program over some contents: pods placed are no more than contents hold."""

    def __init__(self, nodes: Sequence[int], demand: Demand) -> None:
        self.solver = lp = pywraplp.Solver.CreateSolver("GLOP")
        infinity = lp.infinity()
        self.classes = [lp.Constraint(-infinity, float(n)) for n in nodes]
        self.kinds = [lp.Constraint(-infinity, 0.0) for _ in demand.counts]
        objective = lp.Objective()
        objective.SetMaximization()
        for t, tier in enumerate(demand.tiers):
            row = objective
            if t < len(demand.least):
                row = lp.Constraint(float(demand.least[t]), infinity)
                # The first contents alone would have no solution.
                missing = lp.NumVar(0.0, infinity, "")
                row.SetCoefficient(missing, 1.0)
                objective.SetCoefficient(missing, -_MISSING * max(demand.weights))
            for g in tier:
                placed = lp.NumVar(0.0, float(demand.counts[g]), "")
                self.kinds[g].SetCoefficient(placed, 1.0)
                row.SetCoefficient(placed, float(demand.weights[g]))

    def add(self, node_class: int, content: Table) -> None:
        """Add a content of nodes of a class."""
        taken = self.solver.NumVar(0.0, self.solver.infinity(), "")
        self.classes[node_class].SetCoefficient(taken, 1.0)
        for g in np.flatnonzero(content).tolist():
            self.kinds[g].SetCoefficient(taken, -float(content[g]))
