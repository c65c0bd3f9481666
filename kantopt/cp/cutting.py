"""Which shares of devices are scarce? Devices cut into patterns of shares, as a linear program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

_TURNS = 400
"""Most patterns that are added."""
_CLOSE = 1e-7
"""A pattern must be worth so much more than its device."""


@dataclass(frozen=True, slots=True)
class Group:
    """Items of a tier that are alike: their number, their weight, how many of each share."""

    tier: int
    count: int
    weight: int
    shares: tuple[tuple[int, int], ...]


def share_prices(
    sizes: Sequence[int],
    rooms: Sequence[tuple[int, int]],
    groups: Sequence[Group],
    held: Sequence[int],
    over: Callable[[], bool],
) -> list[float]:
    """Return prices at which shares of devices are worth what they make others give up.

    They are the multipliers of a linear program that places as much weight of the last tier as
    possible, in which a device may be cut into patterns of shares in part (Gilmore and Gomory
    1961). Floating point, so proposals and no proofs.

    Parameters
    ----------
    sizes
        Of the shares; each is part of a device.
    rooms
        Sizes of devices and how many there are.
    groups
        What is to be placed.
    held
        Weight that each tier above the last may leave unplaced.
    over
        Whether to stop.
    """
    lp = pywraplp.Solver.CreateSolver("GLOP")
    infinity = lp.infinity()
    gain = lp.Objective()
    gain.SetMaximization()
    cut = [lp.Constraint(0.0, infinity) for _ in sizes]
    there = [lp.Constraint(-infinity, float(count)) for _, count in rooms]
    wanted = [sum(g.weight * g.count for g in groups if g.tier == i) for i in range(len(held))]
    kept = [
        lp.Constraint(float(want - most), infinity) for want, most in zip(wanted, held, strict=True)
    ]
    for group in groups:
        placed = lp.NumVar(0.0, float(group.count), "")
        for i, count in group.shares:
            cut[i].SetCoefficient(placed, float(-count))
        if group.tier < len(held):
            kept[group.tier].SetCoefficient(placed, float(group.weight))
        else:
            gain.SetCoefficient(placed, float(group.weight))

    def add(k: int, pattern: dict[int, int]) -> None:
        used = lp.NumVar(0.0, infinity, "")
        there[k].SetCoefficient(used, 1.0)
        for i, count in pattern.items():
            cut[i].SetCoefficient(used, float(count))

    for k, (room, _) in enumerate(rooms):
        for i, size in enumerate(sizes):
            if size <= room:
                add(k, {i: room // size})
    prices = [0.0] * len(sizes)
    for _ in range(_TURNS):
        if lp.Solve() != pywraplp.Solver.OPTIMAL:
            return [0.0] * len(sizes)  # the tiers above cannot be held: nothing to say
        prices = [max(0.0, -row.dual_value()) for row in cut]
        grown = False
        for k, (room, _) in enumerate(rooms):
            worth, pattern = best_pattern(room, sizes, prices)
            if worth > there[k].dual_value() * (1 + _CLOSE) + _CLOSE:
                add(k, pattern)
                grown = True
        if not grown or over():
            break
    return prices


def best_pattern(
    room: int, sizes: Sequence[int], prices: Sequence[float]
) -> tuple[float, dict[int, int]]:
    """Return the dearest pattern of shares that fit into a room together, and its price."""
    best = [0.0] * (room + 1)
    last = [-1] * (room + 1)
    for u in range(1, room + 1):
        best[u] = best[u - 1]
        for i, size in enumerate(sizes):
            if size <= u and best[u - size] + prices[i] > best[u]:
                best[u] = best[u - size] + prices[i]
                last[u] = i
    pattern: dict[int, int] = {}
    u = room
    while u > 0:
        i = last[u]
        if i < 0:
            u -= 1
        else:
            pattern[i] = pattern.get(i, 0) + 1
            u -= sizes[i]
    return best[room], pattern
