"""Which contents should nodes have, so that as many pods as possible are placed?

As a linear program over the contents known so far (Gilmore and Gomory 1961), and in whole numbers:
there HiGHS is by far the quicker, CP-SAT hardly finds its way among a thousand contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from ortools.linear_solver import pywraplp

_MISSING = 100.0
"""What one unit costs that must be placed and is not, in those of the last tier."""
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Content:
    """What a node of a class may hold: kinds and how many pods of each."""

    node_class: int
    pods: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Demand:
    """Pods by kind, and what must be placed.

    Attributes
    ----------
    nodes
        Nodes of each class.
    counts, weights
        Of each kind: number of pods, and what one counts in its tier.
    tiers, least
        Kinds of each tier, the last of which is to be placed as far as possible; weight that has to
        be placed of each.
    """

    nodes: Sequence[int]
    counts: Sequence[int]
    weights: Sequence[int]
    tiers: Sequence[range]
    least: Sequence[int]


@dataclass(frozen=True, slots=True)
class Point:
    """Multipliers at the optimum of the linear program: proposals, not proofs.

    Attributes
    ----------
    prices
        Of each kind, what it gains if contents hold one pod more.
    worth
        Of each class, what it gains by one node more.
    enough
        All is placed that must be, in parts of contents at least.
    """

    prices: list[float]
    worth: list[float]
    enough: bool


class CoverProgram:
    """The linear program over the contents known so far: they hold all pods that are placed."""

    def __init__(self, demand: Demand) -> None:
        self._lp = lp = pywraplp.Solver.CreateSolver("GLOP")
        infinity = lp.infinity()
        self._classes = [lp.Constraint(-infinity, float(n)) for n in demand.nodes]
        self._kinds = [lp.Constraint(-infinity, 0.0) for _ in demand.counts]
        self._missing: list[pywraplp.Variable] = []
        objective = lp.Objective()
        objective.SetMaximization()
        for tier, least in zip(demand.tiers, demand.least, strict=True):
            row = lp.Constraint(float(least), infinity)
            # The first contents alone would have no solution.
            missing = lp.NumVar(0.0, infinity, "")
            self._missing.append(missing)
            row.SetCoefficient(missing, 1.0)
            objective.SetCoefficient(missing, -_MISSING * max(demand.weights))
            for g in tier:
                placed = lp.NumVar(0.0, float(demand.counts[g]), "")
                self._kinds[g].SetCoefficient(placed, 1.0)
                row.SetCoefficient(placed, float(demand.weights[g]))
                if tier == demand.tiers[-1]:
                    objective.SetCoefficient(placed, float(demand.weights[g]))

    def add(self, content: Content) -> None:
        """Add a content."""
        taken = self._lp.NumVar(0.0, self._lp.infinity(), "")
        self._classes[content.node_class].SetCoefficient(taken, 1.0)
        for g, pods in content.pods:
            self._kinds[g].SetCoefficient(taken, -float(pods))

    def solve(self) -> Point:
        """Solve, starting from the last optimum.

        Raises
        ------
        ValueError
            If the solver breaks down.
        """
        status = self._lp.Solve()
        if status != pywraplp.Solver.OPTIMAL:
            raise ValueError(f"the linear program of contents ended with status {status}")
        return Point(
            [row.dual_value() for row in self._kinds],
            [row.dual_value() for row in self._classes],
            all(missing.solution_value() < _TOLERANCE for missing in self._missing),
        )


def cover(contents: Sequence[Content], demand: Demand, seconds: float) -> list[int] | None:
    """Return how many nodes have each content; ``None`` if nothing is found within some seconds.

    A node may hold less than its content says.
    """
    # By this interface, as the older one forgets what HiGHS had found when its time was up.
    from ortools.math_opt.python import mathopt

    model = mathopt.Model()
    classes = [model.add_linear_constraint(ub=n) for n in demand.nodes]
    kinds = [model.add_linear_constraint(ub=0.0) for _ in demand.counts]
    placed = [model.add_integer_variable(lb=0, ub=count) for count in demand.counts]
    for row, x in zip(kinds, placed, strict=True):
        row.set_coefficient(x, 1.0)
    taken = [model.add_integer_variable(lb=0, ub=demand.nodes[c.node_class]) for c in contents]
    for content, x in zip(contents, taken, strict=True):
        classes[content.node_class].set_coefficient(x, 1.0)
        for g, pods in content.pods:
            kinds[g].set_coefficient(x, -float(pods))
    sums = [mathopt.LinearSum(placed[g] * demand.weights[g] for g in tier) for tier in demand.tiers]
    for total, least in zip(sums, demand.least, strict=True):
        model.add_linear_constraint(total >= least)
    model.maximize(sums[-1])
    limit = mathopt.SolveParameters(time_limit=timedelta(seconds=seconds))
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=limit)
    if not result.has_primal_feasible_solution():
        return None
    return [round(value) for value in result.variable_values(taken)]
