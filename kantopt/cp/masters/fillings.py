"""What should each room hold? Rooms cut into patterns of shares, each room as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ortools.sat.python import cp_model

from kantopt.cp.masters.cutting import best_pattern, share_prices
from kantopt.cp.solver import SOLVED, solver_of
from kantopt.verify.bounds.stock import Stock

MOST = 4000
"""Patterns to choose from, for each kind of room."""
_CLOSE = 1e-6
"""Part of what a room is worth by which a pattern may be worth less."""

Shares = tuple[tuple[int, int], ...]
"""Sizes and how often each; the largest first."""


@dataclass(frozen=True, slots=True)
class Fillings:
    """How many rooms of each kind hold what, and how many pods of each group are placed."""

    rooms: tuple[tuple[int, Shares, int], ...]
    """Index of the kind of room, the shares that it is cut into, number of such rooms."""
    placed: tuple[int, ...]


def fillings(
    stock: Stock, held: Sequence[int], work: float, over: Callable[[], bool]
) -> Fillings | None:
    """Cut rooms so that as much weight as possible of the last tier is placed.

    To choose from are all patterns that are worth what their room is worth by the prices of the
    linear program (:func:`kantopt.cp.masters.cutting.share_prices`): a choice of these alone is as
    good as any if there is one, for pods left out as a whole often the best there is.

    Parameters
    ----------
    stock
        Rooms in which nothing stays.
    held
        Weight that each tier above the last may leave unplaced.
    work
        Limit of the choice in deterministic time.

    Returns
    -------
    Fillings or None
        ``None`` if there are none that hold the tiers above, or time is up.
    """
    found = share_prices(stock, held, over)
    if found is None or over():
        return None
    worth, prices = found
    model = cp_model.CpModel()
    choices: list[tuple[int, Shares, cp_model.IntVar]] = []
    spare: dict[int, list[tuple[cp_model.IntVar, int]]] = {size: [] for size in stock.sizes}
    for k, (room, count) in enumerate(stock.rooms):
        value, _ = best_pattern(room, worth, prices)
        full = list(islice(_full(room.size, prices, value * (1 - _CLOSE)), MOST))
        used = [model.new_int_var(0, count, f"room {k} {shares}") for shares in full]
        model.add(cp_model.LinearExpr.sum(used) <= count)
        for shares, x in zip(full, used, strict=True):
            choices.append((k, shares, x))
            for size, times in shares:
                spare[size].append((x, times))
    placed = [model.new_int_var(0, n, f"group {g}") for g, (_, n) in enumerate(stock.groups)]
    weights: list[list[tuple[cp_model.IntVar, int]]] = [[] for _ in stock.wanted]
    for (group, _), y in zip(stock.groups, placed, strict=True):
        last = group.tier == len(held)
        weights[group.tier].append((y, group.weight // (stock.step if last else 1)))
        for size, times in group.shares:
            spare[size].append((y, -times))
    for terms in spare.values():
        model.add(_sum(terms) >= 0)
    for terms, wanted, left in zip(weights, stock.wanted, held, strict=False):
        model.add(_sum(terms) >= wanted - left)
    model.maximize(_sum(weights[-1]))
    solver = solver_of(work=work)
    if solver.solve(model) not in SOLVED:
        return None
    return Fillings(
        tuple((k, shares, n) for k, shares, x in choices if (n := solver.value(x))),
        tuple(solver.value(y) for y in placed),
    )


def _sum(terms: Sequence[tuple[cp_model.IntVar, int]]) -> cp_model.LinearExpr:
    return cp_model.LinearExpr.weighted_sum([x for x, _ in terms], [k for _, k in terms])


def _full(size: int, prices: dict[int, float], least: float) -> Iterator[Shares]:
    """Yield the patterns of a room that are worth at least so much and hold no further share."""
    sizes = sorted(prices, reverse=True)
    best = [0.0] * (size + 1)
    for share, price in prices.items():
        for u in range(share, size + 1):
            best[u] = max(best[u], best[u - share] + price)

    def further(i: int, left: int, value: float, shares: Shares) -> Iterator[Shares]:
        if i == len(sizes):
            if left < sizes[-1]:
                yield shares
            return
        share, price = sizes[i], prices[sizes[i]]
        for times in range(left // share, -1, -1):
            rest, sum_ = left - times * share, value + times * price
            if sum_ + best[rest] >= least:
                more = ((share, times),) if times else ()
                yield from further(i + 1, rest, sum_, (*shares, *more))

    yield from further(0, size, 0.0, ())
