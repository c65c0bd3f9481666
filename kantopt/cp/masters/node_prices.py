"""Prices of pods from a linear program over changes of nodes: proposals for exact bounds.

Column generation (Dantzig and Wolfe 1960): the program chooses among the changes of each node that
are known, its multipliers price the pods, and the checker's own pricing says which changes those
prices make worth most. All that a price proves is worked out there, in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ortools.linear_solver import pywraplp

from kantopt.cp.masters.multipliers import add
from kantopt.cp.masters.patterns import net_of
from kantopt.cp.masters.price_program import DENOMINATOR, PriceProgram
from kantopt.verify.witness.prices import NodeChange, Priced, priced
from kantopt.verify.witness.rows import PriceRows
from kantopt.verify.witness.sums import Sum

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


class _Changes(PriceProgram):
    """The linear program over the changes of nodes that are known so far."""

    def __init__(self, rows: PriceRows) -> None:
        super().__init__(rows)
        # Those that run are there already.
        self._add_groups([float(-group.running) for group in rows.groups], float(_most(rows) + 1))
        self._take: dict[int, pywraplp.Constraint] = {
            n: self._lp.Constraint(-self._infinity, 1.0)
            for n in range(len(rows.merged.instance.nodes))
        }

    def add(self, found: Priced) -> bool:
        """Add the changes that gain something; say whether any is new."""
        new = False
        for change in found.changes:
            if not (change.outs or change.ins):
                continue
            for n in change.nodes:
                key = (n, *sorted(change.outs.items()), -1, *sorted(change.ins.items()))
                if self._is_new(key):
                    self._column(n, change)
                    new = True
        return new

    def _column(self, n: int, change: NodeChange) -> None:
        taken = self._lp.NumVar(0.0, self._infinity, "")
        self._take[n].SetCoefficient(taken, 1.0)
        net = net_of(tuple(change.outs.items()), tuple(change.ins.items()))
        for i, pods in net.items():
            self._arrive[i].SetCoefficient(taken, float(pods))
        for row, held in self._sums:
            weight = _leaving(row, change.outs)
            if weight:
                add(held, taken, float(weight))


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
