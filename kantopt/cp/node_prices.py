"""Prices of pods from a linear program over changes of nodes: proposals for exact bounds.

Column generation (Dantzig and Wolfe 1960): the program chooses among the changes of each node that
are known, its multipliers price the pods, and the checker's own pricing says which changes those
prices make worth most. All that a price proves is worked out there, in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ortools.linear_solver import pywraplp

from kantopt.cp.multipliers import Program
from kantopt.verify.witness.prices import NodeChange, Priced, priced
from kantopt.verify.witness.rows import PriceRows
from kantopt.verify.witness.sums import Sum

DENOMINATOR = 2**24
"""Prices are rounded to such parts."""
MOST_ROUNDS = 40
"""Rounds after which prices that still change are taken as they are."""
MOST_NODES = 400
MOST_GROUPS = 400
"""Nodes and groups of pods beyond which a round takes too long."""


def node_prices_of(
    rows: PriceRows, target: int, over: Callable[[], bool]
) -> tuple[int, dict[str, int]] | None:
    """Return a denominator and the multipliers, by row, of the best bound found.

    Parameters
    ----------
    rows
        The rows of a tier in which pods that leave their nodes, or are evicted, cost something.
    target
        Value of the tier: no bound is higher.
    over
        Whether to stop.

    Returns
    -------
    tuple or None
        ``None`` if the question is too large or nothing was found in time.
    """
    instance = rows.merged.instance
    if len(instance.nodes) > MOST_NODES or len(rows.groups) > MOST_GROUPS:
        return None
    program = _Changes(rows)
    best: tuple[int, dict[str, int]] | None = None
    most = -1
    for _ in range(MOST_ROUNDS):
        values = None if over() else program.solve()
        if values is None:
            break
        found = priced(rows, DENOMINATOR, values, over)
        if found is None:
            break
        if best is None or found.total > most:
            best, most = (DENOMINATOR, values), found.total
        if found.bound >= target or not program.add(found):
            break
    return best


class _Changes:
    """The linear program over the changes of nodes that are known so far."""

    def __init__(self, rows: PriceRows) -> None:
        self._rows = rows
        self._lp = lp = pywraplp.Solver.CreateSolver("GLOP")
        self._infinity = lp.infinity()
        self._program = program = Program(lp, rows)
        self._known: set[object] = set()
        self._sums: list[tuple[Sum, pywraplp.Constraint | None]] = [(rows.objective, None)]
        self._cost = lp.Objective()
        self._cost.SetMinimization()
        for variable, weight in program.terms(rows.objective, leaving=False):
            self._add(None, variable, weight)
        self._limited: dict[str, pywraplp.Constraint] = {}
        for name, lock in rows.locks.items():
            limit = float(lock.limit - lock.constant - sum(lock.unplaced.values()))
            row = self._limited[name] = lp.Constraint(-self._infinity, limit)
            for variable, weight in program.terms(lock, leaving=False):
                self._add(row, variable, weight)
            self._sums.append((lock, row))
        self._arrive = []
        highest = float(_most(rows) + 1)
        for i, group in enumerate(rows.groups):
            # running, less those that leave, and those that arrive are at least those placed
            row = lp.Constraint(float(-group.running), self._infinity)
            row.SetCoefficient(program.placed[i], -1.0)
            short = lp.NumVar(0.0, self._infinity, "")
            row.SetCoefficient(short, 1.0)
            self._cost.SetCoefficient(short, highest)
            self._arrive.append(row)
        self._take: dict[int, pywraplp.Constraint] = {
            n: lp.Constraint(-self._infinity, 1.0) for n in range(len(rows.merged.instance.nodes))
        }

    def _add(
        self, row: pywraplp.Constraint | None, variable: pywraplp.Variable, weight: float
    ) -> None:
        held = self._cost if row is None else row
        held.SetCoefficient(variable, held.GetCoefficient(variable) + weight)

    def solve(self) -> dict[str, int] | None:
        """Return multipliers by row, in parts of the denominator; ``None`` without an optimum."""
        if self._lp.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        found = {
            group.name: row.dual_value()
            for group, row in zip(self._rows.groups, self._arrive, strict=True)
        }
        found |= {name: -row.dual_value() for name, row in self._limited.items()}
        return {name: round(max(0.0, dual) * DENOMINATOR) for name, dual in found.items()}

    def add(self, found: Priced) -> bool:
        """Add the changes that gain something; say whether any is new."""
        new = False
        for change in found.changes:
            if not (change.outs or change.ins):
                continue
            for n in change.nodes:
                key = (n, *sorted(change.outs.items()), -1, *sorted(change.ins.items()))
                if key not in self._known:
                    self._known.add(key)
                    self._column(n, change)
                    new = True
        return new

    def _column(self, n: int, change: NodeChange) -> None:
        taken = self._lp.NumVar(0.0, self._infinity, "")
        self._take[n].SetCoefficient(taken, 1.0)
        net: dict[int, int] = dict(change.ins)
        for i, pods in change.outs.items():
            net[i] = net.get(i, 0) - pods
        for i, pods in net.items():
            self._arrive[i].SetCoefficient(taken, float(pods))
        for row, held in self._sums:
            weight = _leaving(row, change.outs)
            if weight:
                self._add(held, taken, float(weight))


def _most(rows: PriceRows) -> int:
    """What the tier is at most: no pod is worth more than that."""
    goal = rows.objective
    most = sum(goal.unplaced.values())
    for i, group in enumerate(rows.groups):
        most += group.running * (goal.out[i] + max(0, goal.evicted[i]))
        most += goal.missing[i] * goal.wanted[i] + goal.placed[i] * group.count
    return most


def _leaving(row: Sum, outs: Mapping[int, int]) -> int:
    return sum(row.out[i] * pods for i, pods in outs.items())
