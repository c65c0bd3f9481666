"""Prices of pods by column generation: the restricted master (Dantzig and Wolfe 1960).

What the programs over changes of nodes and over contents of regions have in common: variables of
pods and jobs placed, the tier to be bounded as objective, locks as rows, one row for each group of
pods that arrive, and the columns that are known so far.
"""

from __future__ import annotations

from ortools.linear_solver import pywraplp

from kantopt.cp.masters.multipliers import Program
from kantopt.verify.witness.rows import PriceRows

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
        self._cost = program.minimise(rows.objective, leaving=False)
        self._sums = [(rows.objective, self._cost)]
        """Objective and locks with what holds them."""
        self._limited: dict[str, pywraplp.Constraint] = {}
        """Rows with a limit from above, by name."""
        for name, lock in rows.locks.items():
            self._limited[name] = program.at_most(lock, leaving=False)
            self._sums.append((lock, self._limited[name]))
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
