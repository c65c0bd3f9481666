"""Which shares of rooms are scarce? Rooms cut into patterns of shares, as a linear program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from kantopt.verify.bounds.stock import Room, Stock

_TURNS = 60
"""How often patterns are added, one for each kind of room."""
_CLOSE = 1e-7
"""A pattern must be worth so much more than its room."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a room holds: weight of the pods that stay there by tier, and shares by size."""

    kept: tuple[int, ...]
    shares: dict[int, int]


def share_prices(
    stock: Stock, held: Sequence[int], over: Callable[[], bool]
) -> tuple[list[float], dict[int, float]] | None:
    """Return what weight is worth in each tier, and prices of shares by size.

    They are the multipliers of a linear program that places as much weight of the last tier as
    possible, in which a room may be cut into several patterns in part (Gilmore and Gomory 1961).
    Floating point, so proposals and no proofs. ``None`` if the tiers above cannot be held.

    Parameters
    ----------
    held
        Weight that each tier above the last may leave unplaced.
    over
        Whether to stop.
    """
    program = _Program(stock, held)
    found = None
    for _ in range(_TURNS):
        if not program.solve():
            return found
        found = program.worth, program.prices
        if not program.grow() or over():
            break
    return found


class _Program:
    def __init__(self, stock: Stock, held: Sequence[int]) -> None:
        self._stock = stock
        self._lp = lp = pywraplp.Solver.CreateSolver("GLOP")
        self._infinity = infinity = lp.infinity()
        self._gain = lp.Objective()
        self._gain.SetMaximization()
        self._cut = {size: lp.Constraint(0.0, infinity) for size in stock.sizes}
        self._there = [lp.Constraint(-infinity, float(count)) for _, count in stock.rooms]
        self._kept = [
            lp.Constraint(float(wanted - left), infinity)
            for wanted, left in zip(stock.wanted, held, strict=False)
        ]
        self.worth: list[float] = []
        self.prices: dict[int, float] = {}
        self._rooms: list[float] = []
        for group, count in stock.groups:
            placed = lp.NumVar(0.0, float(count), "")
            for size, k in group.shares:
                self._cut[size].SetCoefficient(placed, float(-k))
            self._weigh(placed, group.tier, group.weight)
        for k, (room, _) in enumerate(stock.rooms):
            full = [0] * len(stock.wanted)
            for pod in room.pinned:
                full[pod.tier] += pod.weight
            self._add(k, Pattern(tuple(full), {}))
            for size in stock.sizes:
                if size <= room.size:
                    self._add(k, Pattern((0,) * len(full), {size: room.size // size}))

    def _weigh(self, variable: pywraplp.Variable, tier: int, amount: int) -> None:
        row = self._kept[tier] if tier < len(self._kept) else self._gain
        row.SetCoefficient(variable, float(amount))

    def _add(self, k: int, pattern: Pattern) -> None:
        used = self._lp.NumVar(0.0, self._infinity, "")
        self._there[k].SetCoefficient(used, 1.0)
        for size, count in pattern.shares.items():
            self._cut[size].SetCoefficient(used, float(count))
        for tier, amount in enumerate(pattern.kept):
            if amount:
                self._weigh(used, tier, amount)

    def solve(self) -> bool:
        """Solve over the patterns so far; say whether that went well."""
        if self._lp.Solve() != pywraplp.Solver.OPTIMAL:
            return False
        self.worth = [max(0.0, -row.dual_value()) for row in self._kept] + [1.0]
        self.prices = {size: max(0.0, -row.dual_value()) for size, row in self._cut.items()}
        # Read before columns are added: then the solution counts as out of date.
        self._rooms = [row.dual_value() for row in self._there]
        return True

    def grow(self) -> bool:
        """Add the best pattern of each kind of room that is worth more than the room."""
        grown = False
        for k, (room, _) in enumerate(self._stock.rooms):
            value, pattern = best_pattern(room, self.worth, self.prices)
            if value > self._rooms[k] * (1 + _CLOSE) + _CLOSE:
                self._add(k, pattern)
                grown = True
        return grown


def best_pattern(
    room: Room, worth: Sequence[float], prices: dict[int, float]
) -> tuple[float, Pattern]:
    """Return what the dearest contents of a room are worth and pay, and what they are."""
    pods = len(room.pinned)
    best = [0.0] * (room.size + 1)
    stays: list[list[bool]] = []
    for pod in room.pinned:
        value = pod.weight * worth[pod.tier]
        here = [False] * (room.size + 1)
        for u in range(room.size, pod.size - 1, -1):
            if best[u - pod.size] + value > best[u]:
                best[u] = best[u - pod.size] + value
                here[u] = True
        stays.append(here)
    last = [0] * (room.size + 1)
    for size, price in prices.items():
        for u in range(size, room.size + 1):
            if best[u - size] + price > best[u]:
                best[u] = best[u - size] + price
                last[u] = size
    u = room.size
    shares: dict[int, int] = {}
    while last[u]:
        shares[last[u]] = shares.get(last[u], 0) + 1
        u -= last[u]
    kept = [0] * len(worth)
    for i in reversed(range(pods)):
        if stays[i][u]:
            pod = room.pinned[i]
            kept[pod.tier] += pod.weight
            u -= pod.size
    return best[room.size], Pattern(tuple(kept), shares)
