"""Which content should the nodes of each class have? As a linear program, and in whole numbers.

Optima and multipliers are floats: proposals for others to judge, never proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model

from kantopt.cp.solver import SOLVED, Effort, solver_of
from kantopt.cp.variables import Terms, weighted

LOOSE = 1.25
"""Arrivals that a choice in whole numbers may have, over those of the linear program."""
HIGHS = 0.75
"""Share of the time for HiGHS; the rest is for CP-SAT if that has found nothing."""
NEAR = 0.85
"""Distance to a bound at which HiGHS may stop."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What contents are chosen for.

    Attributes
    ----------
    nodes
        Nodes of each class.
    least, most
        Fewest and most pods of each kind, more or fewer than there are now.
    limits
        What the sum of each row may be at most.
    arrival
        Cost of an arrival: so little that all there could be cost a tenth of a unit.
    """

    nodes: Sequence[int]
    least: Sequence[int]
    most: Sequence[int]
    limits: Sequence[int]
    arrival: float


@dataclass(frozen=True, slots=True)
class Column:
    """A content of one node of a class: its cost, and what it adds.

    Attributes
    ----------
    arrivals
        Pods that arrive: of contents that cost the same the one with fewer is the better.
    change
        Kinds and how many pods more or fewer than now.
    rows
        What it adds to each row.
    """

    node_class: int
    cost: int
    arrivals: int
    change: Sequence[tuple[int, int]]
    rows: Sequence[int]


@dataclass(frozen=True, slots=True)
class Point:
    """Optimum of the linear program and its multipliers.

    Attributes
    ----------
    prices
        Per kind, what the cost falls by if one more pod had to be placed; of any sign.
    rows
        Per row, what the cost falls by with one more unit of its limit; at least 0.
    classes
        Per class, what a node's content must cost less than, at these prices, to be of use.
    forced
        The multipliers are at the edge of their box: beyond it the optimum is higher.
    """

    value: float
    prices: list[float]
    rows: list[float]
    classes: list[float]
    forced: bool


class ContentProgram:
    """The program over the columns known so far; it grows.

    The first column of each class is the content that its nodes have now. Multipliers are kept in
    a box, without which those of the first columns would be far off (Marsten, Hogan and
    Blankenship 1975): pods may be too many or too few, and limits exceeded, at the prices of the
    edges of the box.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._columns: list[Column] = []
        self._now: dict[int, int] = {}
        """Of each class, the column of what its nodes have now."""
        self._lp = pywraplp.Solver.CreateSolver("GLOP")
        self._rows = _Rows(self._lp, frame)
        self._lacking = [self._slack(row, 1.0) for row in self._rows.kinds]
        self._beyond = [self._slack(row, -1.0) for row in self._rows.kinds]
        self._exceeded = [self._slack(row, -1.0) for row in self._rows.limits]
        self._taken: list[pywraplp.Variable] = []
        self._value = self._arrivals = 0.0

    def _slack(self, row: pywraplp.Constraint, sign: float) -> pywraplp.Variable:
        slack = self._lp.NumVar(0.0, self._lp.infinity(), "")
        row.SetCoefficient(slack, sign)
        return slack

    def box(self, prices: Sequence[float], spread: float, highest: float) -> None:
        """Keep the prices of kinds within a spread of some, those of rows up to a highest one."""
        cost = self._rows.cost
        for lacking, beyond, price in zip(self._lacking, self._beyond, prices, strict=True):
            cost.SetCoefficient(lacking, spread - price)
            cost.SetCoefficient(beyond, spread + price)
        for slack in self._exceeded:
            cost.SetCoefficient(slack, highest)

    def add(self, column: Column) -> None:
        """Add a column."""
        self._now.setdefault(column.node_class, len(self._columns))
        self._columns.append(column)
        self._taken.append(self._lp.NumVar(0.0, self._lp.infinity(), ""))
        self._rows.add(self._taken[-1], column)

    def solve(self) -> Point:
        """Solve the linear program, starting from the last optimum.

        Raises
        ------
        ValueError
            If the solver breaks down.
        """
        status = self._lp.Solve()
        if status != pywraplp.Solver.OPTIMAL:
            raise ValueError(f"the linear program of contents ended with status {status}")
        rows, slacks = self._rows, (*self._lacking, *self._beyond, *self._exceeded)
        self._value = rows.cost.Value()
        pairs = zip(self._columns, self._taken, strict=True)
        self._arrivals = sum(c.arrivals * x.solution_value() for c, x in pairs if c.arrivals)
        return Point(
            self._value,
            [-row.dual_value() for row in rows.kinds],
            [max(0.0, -row.dual_value()) for row in rows.limits],
            [row.dual_value() for row in rows.classes],
            any(slack.solution_value() > 1e-6 for slack in slacks),
        )

    def choose(
        self, effort: Effort, limits: Sequence[int], dearer: Sequence[float], within: float
    ) -> list[int] | None:
        """Return how many nodes take each column, at the least cost that is found.

        Parameters
        ----------
        limits
            Of the rows: the frame's or lower.
        dearer
            What each column is to cost beside its cost.
        within
            Columns that raise the linear program's optimum by more, each node that takes one, are
            left out: of any choice that near to it none could be part.

        HiGHS is by far the quicker on most of these; where it finds nothing in most of the time,
        and where the answer must be repeatable, CP-SAT starts from what is there now. ``None`` if
        neither finds a choice in whole numbers.
        """
        self.solve()  # columns may have come since
        now = set(self._now.values())
        near = [i for i, x in enumerate(self._taken) if i in now or x.reduced_cost() <= within]
        columns = [(self._columns[i], dearer[i]) for i in near]
        chosen = None
        if effort.work is None:
            chosen = self._by_highs(HIGHS * effort.seconds, limits, columns)
        chosen = chosen or self._by_cp_sat(effort, limits, columns)
        if chosen is None:
            return None
        nodes_of = dict(zip(near, chosen, strict=True))
        return [nodes_of.get(i, 0) for i in range(len(self._columns))]

    def _by_highs(
        self, seconds: float, limits: Sequence[int], columns: Sequence[tuple[Column, float]]
    ) -> list[int] | None:
        mip = pywraplp.Solver.CreateSolver("HIGHS")
        rows = _Rows(mip, replace(self._frame, limits=limits))
        chosen = []
        for column, more in columns:
            chosen.append(mip.IntVar(0.0, float(self._frame.nodes[column.node_class]), ""))
            rows.add(chosen[-1], column, more)
        most = LOOSE * self._arrivals + 10
        if not self._arrivals_limited(most):
            # Without a limit on moves the choices are too many: some more than it takes will do.
            few = mip.Constraint(-mip.infinity(), most)
            for (column, _), variable in zip(columns, chosen, strict=True):
                few.SetCoefficient(variable, float(column.arrivals))
        mip.SetTimeLimit(max(1, int(1000 * seconds)))
        near = pywraplp.MPSolverParameters()
        # Costs are whole numbers: what is nearer than one to a bound is optimal. The cost of
        # arrivals, which is not whole, takes its part of that.
        gap = NEAR / max(1.0, abs(self._value))
        near.SetDoubleParam(pywraplp.MPSolverParameters.RELATIVE_MIP_GAP, gap)
        if mip.Solve(near) not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
            return None
        return [round(variable.solution_value()) for variable in chosen]

    def _arrivals_limited(self, most: float) -> bool:
        """Whether some row limits arrivals to so many."""
        return any(
            limit <= most and all(column.rows[j] == column.arrivals for column in self._columns)
            for j, limit in enumerate(self._frame.limits)
        )

    def _by_cp_sat(
        self, effort: Effort, limits: Sequence[int], columns: Sequence[tuple[Column, float]]
    ) -> list[int] | None:
        frame, model = self._frame, cp_model.CpModel()
        chosen = []
        seen: set[int] = set()
        for column, _ in columns:
            most = frame.nodes[column.node_class]
            chosen.append(model.new_int_var(0, most, ""))
            model.add_hint(chosen[-1], 0 if column.node_class in seen else most)
            seen.add(column.node_class)
        pairs = [(column, x) for (column, _), x in zip(columns, chosen, strict=True)]
        for i, nodes in enumerate(frame.nodes):
            model.add(weighted([(x, 1) for c, x in pairs if c.node_class == i]) == nodes)
        for k, (least, most) in enumerate(zip(frame.least, frame.most, strict=True)):
            changes: Terms = [(x, pods) for c, x in pairs for kind, pods in c.change if kind == k]
            if changes:
                model.add_linear_constraint(weighted(changes), least, most)
        for j, limit in enumerate(limits):
            model.add(weighted([(x, c.rows[j]) for c, x in pairs if c.rows[j]]) <= limit)
        unit = round(1 / frame.arrival)
        costs: Terms = [
            (x, unit * c.cost + c.arrivals + round(unit * more))
            for (c, more), x in zip(columns, chosen, strict=True)
        ]
        model.minimize(weighted(costs))
        seconds = effort.seconds * (1 - HIGHS if effort.work is None else 1)
        solver = solver_of(seconds, effort.work, workers=effort.workers, seed=effort.seed)
        solver.parameters.interleave_search = effort.work is not None
        if solver.solve(model) not in SOLVED:
            return None
        return [solver.value(x) for x in chosen]


class _Rows:
    """The rows of a program of either kind."""

    def __init__(self, program: pywraplp.Solver, frame: Frame) -> None:
        infinity = program.infinity()
        self._arrival = frame.arrival
        self.cost = program.Objective()
        self.cost.SetMinimization()
        self.classes = [program.Constraint(float(k), float(k)) for k in frame.nodes]
        self.kinds = [
            program.Constraint(float(least), float(most))
            for least, most in zip(frame.least, frame.most, strict=True)
        ]
        self.limits = [program.Constraint(-infinity, float(limit)) for limit in frame.limits]

    def add(self, variable: pywraplp.Variable, column: Column, more: float = 0.0) -> None:
        """Put a column into the rows, at its cost and some more."""
        self.cost.SetCoefficient(variable, column.cost + self._arrival * column.arrivals + more)
        self.classes[column.node_class].SetCoefficient(variable, 1.0)
        for kind, pods in column.change:
            self.kinds[kind].SetCoefficient(variable, float(pods))
        for row, amount in zip(self.limits, column.rows, strict=True):
            if amount:
                row.SetCoefficient(variable, float(amount))
