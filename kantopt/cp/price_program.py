"""Prices of pods by column generation: the restricted master (Dantzig and Wolfe 1960).

What the programs over changes of nodes and over contents of regions have in common: variables of
pods and jobs placed, the tier to be bounded as objective, locks as rows, one row for each group of
pods that arrive, and the columns that are known so far.
"""

from __future__ import annotations

from ortools.linear_solver import pywraplp

from kantopt.cp.multipliers import Program
from kantopt.verify.witness.rows import PriceRows
from kantopt.verify.witness.sums import Sum

DENOMINATOR = 2**24
"""Prices are rounded to such parts."""


class PriceProgram:
    """A linear program whose multipliers are prices, over the columns that are known so far."""

    def __init__(self, rows: PriceRows) -> None:
        self._rows = rows
        self._lp = lp = pywraplp.Solver.CreateSolver("GLOP")
        self._infinity = lp.infinity()
        self._program = program = Program(lp, rows)
        self._known: set[object] = set()
        self._cost = lp.Objective()
        self._cost.SetMinimization()
        self._sums: list[tuple[Sum, pywraplp.Constraint | None]] = [(rows.objective, None)]
        """Objective and locks with the rows that hold them."""
        for variable, weight in program.terms(rows.objective, leaving=False):
            self._add(None, variable, weight)
        self._limited: dict[str, pywraplp.Constraint] = {}
        """Rows with a limit from above, by name."""
        for name, lock in rows.locks.items():
            limit = float(lock.limit - lock.constant - sum(lock.unplaced.values()))
            row = self._limited[name] = lp.Constraint(-self._infinity, limit)
            for variable, weight in program.terms(lock, leaving=False):
                self._add(row, variable, weight)
            self._sums.append((lock, row))
        self._priced: dict[str, pywraplp.Constraint] = {}
        """Rows with a limit from below, by name, but for those of groups."""
        self._arrive: list[pywraplp.Constraint] = []

    def _add_groups(self, least: list[float], dear: float) -> None:
        """Add the rows of groups: pods that arrive are at least those placed, less ``least``.

        ``dear`` is what it costs to place one without room.
        """
        for i, number in enumerate(least):
            row = self._lp.Constraint(number, self._infinity)
            row.SetCoefficient(self._program.placed[i], -1.0)
            short = self._lp.NumVar(0.0, self._infinity, "")
            row.SetCoefficient(short, 1.0)
            self._cost.SetCoefficient(short, dear)
            self._arrive.append(row)

    def _add(
        self, row: pywraplp.Constraint | None, variable: pywraplp.Variable, weight: float
    ) -> None:
        """Add to a coefficient of a row, or of the objective."""
        held = self._cost if row is None else row
        held.SetCoefficient(variable, held.GetCoefficient(variable) + weight)

    def _is_new(self, key: object) -> bool:
        """Whether a column is not known; from now on it is."""
        new = key not in self._known
        self._known.add(key)
        return new

    def solve(self) -> dict[str, int] | None:
        """Return multipliers by row, in parts of the denominator; ``None`` without an optimum."""
        if self._lp.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        found = {
            group.name: row.dual_value()
            for group, row in zip(self._rows.groups, self._arrive, strict=True)
        }
        found |= {name: row.dual_value() for name, row in self._priced.items()}
        found |= {name: -row.dual_value() for name, row in self._limited.items()}
        return {name: round(max(0.0, dual) * DENOMINATOR) for name, dual in found.items()}
