"""Multipliers of rows from a linear program: proposals, in floats, for bounds that are exact."""

from __future__ import annotations

from ortools.linear_solver import pywraplp

from kantopt.verify.bounds.left_out import all_or_nothing
from kantopt.verify.witness.groups import by_job
from kantopt.verify.witness.rows import PriceRows
from kantopt.verify.witness.sums import Sum

DENOMINATOR = 10**15
"""Multipliers are rounded to such parts: fine enough for a price per byte."""


def multipliers_of(rows: PriceRows, seconds: float) -> dict[str, int]:
    """Return multipliers, by row and in parts of the denominator, that should bound the tier best.

    The linear program takes all nodes as one: how many pods of each group are placed, which jobs
    are, what capacity and locks admit. Whether its multipliers prove anything is for others to say.
    Empty if it was not solved in the time.
    """
    solver = pywraplp.Solver.CreateSolver("GLOP")
    solver.SetTimeLimit(max(1, int(1000 * seconds)))
    program = Program(solver, rows)
    program.minimise(rows.objective)
    limited: dict[str, pywraplp.Constraint] = {}
    scales: dict[str, float] = {}
    for name, capacity in rows.capacity.items():
        scale = scales[name] = float(max(capacity.limit, *capacity.weights.values(), 1))
        row = limited[name] = solver.Constraint(-solver.infinity(), capacity.limit / scale)
        for i, each in capacity.weights.items():
            row.SetCoefficient(program.placed[i], each / scale)
    for name, lock in rows.locks.items():
        limited[name] = program.at_most(lock)
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return {}
    duals = {name: -row.dual_value() / scales.get(name, 1.0) for name, row in limited.items()}
    found = {name: round(dual * DENOMINATOR) for name, dual in duals.items()}
    return {name: value for name, value in found.items() if value > 0}


def add(
    held: pywraplp.Constraint | pywraplp.Objective, variable: pywraplp.Variable, weight: float
) -> None:
    """Add to a coefficient of a row, or of the objective."""
    held.SetCoefficient(variable, held.GetCoefficient(variable) + weight)


class Program:
    """Variables: pods placed, evicted and missing, by group, and jobs that are placed."""

    def __init__(self, solver: pywraplp.Solver, rows: PriceRows) -> None:
        self._solver, self._rows = solver, rows
        instance = rows.merged.instance
        infinity = solver.infinity()
        self.placed = [
            solver.NumVar(float(least), float(group.count), "")
            for least, group in zip(rows.least, rows.groups, strict=True)
        ]
        self._evicted: dict[int, pywraplp.Variable] = {}
        self._missing: dict[tuple[int, int], pywraplp.Variable] = {}
        self._jobs: dict[int, pywraplp.Variable] = {}
        for j, members in by_job(instance, rows.groups).items():
            whole = all_or_nothing(instance, instance.jobs[j])
            if not (
                whole or any(s.unplaced.get(j) for s in (rows.objective, *rows.locks.values()))
            ):
                continue
            job = self._jobs[j] = solver.NumVar(0.0, 1.0, "")
            for i in members:
                group = rows.groups[i]
                least = solver.Constraint(0.0, infinity)
                least.SetCoefficient(self.placed[i], 1.0)
                least.SetCoefficient(job, -float(group.need))
                if whole:
                    most = solver.Constraint(-infinity, 0.0)
                    most.SetCoefficient(self.placed[i], 1.0)
                    most.SetCoefficient(job, -float(group.count))

    def job(self, j: int) -> pywraplp.Variable | None:
        """Return the variable of a job that is placed or not; ``None`` if there is none for it."""
        return self._jobs.get(j)

    def minimise(self, row: Sum, *, leaving: bool = True) -> pywraplp.Objective:
        """Make a sum the objective."""
        objective = self._solver.Objective()
        objective.SetMinimization()
        for variable, weight in self._terms(row, leaving=leaving):
            add(objective, variable, weight)
        return objective

    def at_most(self, row: Sum, *, leaving: bool = True) -> pywraplp.Constraint:
        """Hold a sum to its limit."""
        most = float(row.limit - row.constant - sum(row.unplaced.values()))
        held = self._solver.Constraint(-self._solver.infinity(), most)
        for variable, weight in self._terms(row, leaving=leaving):
            add(held, variable, weight)
        return held

    def _terms(self, row: Sum, *, leaving: bool) -> list[tuple[pywraplp.Variable, float]]:
        """Return a sum as variables and their weights, but for its constants.

        ``leaving``: evicted pods count as pods that leave, and no others are said to leave.
        """
        found = []
        for i, group in enumerate(self._rows.groups):
            evicted = row.evicted[i] + (row.out[i] if leaving else 0)
            if (evicted > 0 or (evicted and not leaving)) and group.running:
                found.append((self._lost(i), float(evicted)))
            if row.missing[i]:
                found.append((self._short(i, row.wanted[i]), float(row.missing[i])))
            if row.placed[i]:
                found.append((self.placed[i], -float(row.placed[i])))
        found += [(self._jobs[j], -float(weight)) for j, weight in row.unplaced.items() if weight]
        return found

    def _lost(self, i: int) -> pywraplp.Variable:
        """Pods of a group that are evicted, at least."""
        if i not in self._evicted:
            running = float(self._rows.groups[i].running)
            lost = self._evicted[i] = self._solver.NumVar(0.0, running, "")
            self._at_least(lost, i, running)
        return self._evicted[i]

    def _short(self, i: int, wanted: int) -> pywraplp.Variable:
        """Pods of a group that are missing of those wanted, at least."""
        if (i, wanted) not in self._missing:
            short = self._missing[i, wanted] = self._solver.NumVar(0.0, float(wanted), "")
            self._at_least(short, i, float(wanted))
        return self._missing[i, wanted]

    def _at_least(self, variable: pywraplp.Variable, i: int, number: float) -> None:
        row = self._solver.Constraint(number, self._solver.infinity())
        row.SetCoefficient(variable, 1.0)
        row.SetCoefficient(self.placed[i], 1.0)
