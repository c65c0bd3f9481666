"""Which pattern of change should each node take? As a linear program, and with yes or no.

Groups of pods have ``running`` pods, of which patterns take some away (outs) and bring some to
other nodes (ins). Of each group between ``low`` and ``count`` pods are placed in the end, and no
more than run, less the outs, plus the ins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

Counts = Sequence[tuple[int, int]]
"""Groups and pods of each."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A sum over groups, by index: of each pod that leaves, is evicted, is not placed."""

    out: Sequence[int]
    evicted: Sequence[int]
    missing: Sequence[int]
    limit: int


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of pods, by index, and what a choice of patterns minimises and has to respect.

    Attributes
    ----------
    running, count, low
        Pods that run, that there are, and that are placed at least.
    objective
        Its limit is the value to improve on.
    """

    running: Sequence[int]
    count: Sequence[int]
    low: Sequence[int]
    objective: Weights
    locks: Sequence[Weights]


@dataclass(frozen=True, slots=True)
class Point:
    """Optimum of the linear program and its multipliers, as floats: proposals, not proofs."""

    value: float
    prices: list[float]
    """Per group, of one more pod that is placed or stays."""
    locks: list[float]
    """Per lock, of one unit less."""
    short: float
    """Pods that are bought at their highest price: no pattern brings them for less."""


def net_of(outs: Counts, ins: Counts) -> dict[int, int]:
    """Return how many pods of each group a pattern brings, less those that it takes away."""
    net = dict(ins)
    for g, k in outs:
        net[g] = net.get(g, 0) - k
    return net


class PatternLp:
    """The linear program over the patterns known so far; it grows by columns."""

    def __init__(self, nodes: int, groups: Groups, highest: Sequence[float]) -> None:
        self._lp = lp = pywraplp.Solver.CreateSolver("GLOP")
        count, low, objective, locks = groups.count, groups.low, groups.objective, groups.locks
        self._objective = objective
        self._locks = locks
        infinity = lp.infinity()
        self._cost = lp.Objective()
        self._cost.SetMinimization()
        self._short = []
        self._arrive = []
        self._lock_rows = [lp.Constraint(-infinity, float(lock.limit)) for lock in locks]
        self._take = [lp.Constraint(-infinity, 1.0) for _ in range(nodes)]
        for g, here in enumerate(groups.running):
            # running + net - placed >= 0
            row = lp.Constraint(float(-here), infinity)
            self._arrive.append(row)
            short = lp.NumVar(0.0, infinity, "")
            self._cost.SetCoefficient(short, highest[g])
            row.SetCoefficient(short, 1.0)
            self._short.append(short)
            placed = lp.NumVar(float(low[g]), float(count[g]), "")
            row.SetCoefficient(placed, -1.0)
            for k, lock in enumerate(locks):
                if lock.missing[g]:
                    # missing * (count - placed): the constant goes to the limit
                    self._lock_rows[k].SetCoefficient(placed, float(-lock.missing[g]))
                    self._lock_rows[k].SetUb(self._lock_rows[k].ub() - lock.missing[g] * count[g])
            if low[g] < here:
                evicted = lp.NumVar(0.0, float(here - low[g]), "")
                self._cost.SetCoefficient(evicted, float(objective.evicted[g]))
                for k, lock in enumerate(locks):
                    self._lock_rows[k].SetCoefficient(evicted, float(lock.evicted[g]))
                least = lp.Constraint(float(here), infinity)
                least.SetCoefficient(evicted, 1.0)
                least.SetCoefficient(placed, 1.0)
                # What is evicted is no more than max(0, running - placed), or rather the least
                # concave function above that.
                most = lp.Constraint(-infinity, float((here - low[g]) * count[g]))
                most.SetCoefficient(evicted, float(count[g] - low[g]))
                most.SetCoefficient(placed, float(here - low[g]))

    def add(self, node: int, outs: Counts, ins: Counts) -> None:
        """Add a pattern."""
        x = self._lp.NumVar(0.0, self._lp.infinity(), "")
        self._cost.SetCoefficient(x, float(sum(self._objective.out[g] * k for g, k in outs)))
        self._take[node].SetCoefficient(x, 1.0)
        for row, lock in zip(self._lock_rows, self._locks, strict=True):
            amount = sum(lock.out[g] * k for g, k in outs)
            if amount:
                row.SetCoefficient(x, float(amount))
        for g, k in net_of(outs, ins).items():
            self._arrive[g].SetCoefficient(x, float(k))

    def exchange(self, given: Counts, taken: Counts) -> None:
        """Let pods stand for others: where ``taken`` arrive, ``given`` could."""
        x = self._lp.NumVar(0.0, self._lp.infinity(), "")
        for g, k in given:
            self._arrive[g].SetCoefficient(x, float(k))
        for g, k in taken:
            self._arrive[g].SetCoefficient(x, float(-k))

    def solve(self) -> Point:
        """Solve, starting from the last optimum."""
        status = self._lp.Solve()
        if status != pywraplp.Solver.OPTIMAL:
            raise ValueError(f"the linear program of patterns ended with status {status}")
        return Point(
            self._cost.Value(),
            [max(0.0, row.dual_value()) for row in self._arrive],
            [max(0.0, -row.dual_value()) for row in self._lock_rows],
            sum(short.solution_value() for short in self._short),
        )

    def box(self, highest: Sequence[float]) -> None:
        """Change the highest prices."""
        for short, price in zip(self._short, highest, strict=True):
            self._cost.SetCoefficient(short, price)
