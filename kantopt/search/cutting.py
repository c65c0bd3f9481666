"""A bound where room is left over: shares of a node or a device that do not go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline
from kantopt.cp.masters.cutting import best_pattern, share_prices
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.stock import Stock, cuts, least_missing, stock_of
from kantopt.verify.witness.shares import counts_pods, share_name

_SCALE = 2**32
"""Of prices in integers."""
PARTS = 24
"""Most parts of a room that small prices are counted in."""
_CLOSE = 1e-4
"""A price in floating point is a whole number of parts if it is this close."""


@dataclass(frozen=True, slots=True)
class SharePrices:
    """A bound on one tier, and the numbers that prove it as a witness states them."""

    bound: int
    denominator: int
    multipliers: dict[str, int]


def cutting_bounds(
    instance: Instance, tiers: Sequence[Tier], values: Sequence[int], deadline: Deadline
) -> list[tuple[int, int]]:
    """Bound what stays unplaced for want of room in one piece, tier by tier.

    Parameters
    ----------
    tiers, values
        The tiers and their values in a legal plan. A bound holds for plans that are no worse than
        it in the tiers above.

    Returns
    -------
    list of (int, int)
        Index of a tier and its bound, where there is one above 0.
    """
    found = []
    for i in range(len(tiers)):
        best = cutting_prices(instance, tiers, values, i, deadline)
        if best is not None and tiers[i].above_target(best.bound):
            found.append((i, tiers[i].above_target(best.bound)))
    return found


def cutting_prices(
    instance: Instance, tiers: Sequence[Tier], values: Sequence[int], i: int, deadline: Deadline
) -> SharePrices | None:
    """Return the best bound on tier ``i`` from prices of shares; ``None`` if there is none above 0.

    A linear program proposes prices of shares of rooms; rounded to integers they make a bound by
    exact arithmetic (:func:`kantopt.verify.bounds.stock.least_missing`), whatever they are.
    """
    if not counts_pods(tiers[i]):
        return None
    held = [k for k in range(i) if counts_pods(tiers[k])]
    asked = (*(tiers[k] for k in held), tiers[i])
    left = [tiers[k].most(values[k]) for k in held]
    best: SharePrices | None = None
    for cut in cuts(instance):
        stock = None if deadline.over() else stock_of(instance, asked, cut)
        prices = None if stock is None else share_prices(stock, left, deadline.over)
        if stock is None or prices is None:
            continue
        worth, shares = prices
        for rounded, whole in _in_integers(stock, worth, shares):
            bound = least_missing(stock, left, rounded, whole)
            if bound > (0 if best is None else best.bound):
                rows = {
                    share_name(instance, cut, size * stock.unit): price
                    for size, price in whole.items()
                }
                above = zip(asked, rounded[:-1], strict=False)
                best = SharePrices(
                    bound, rounded[-1], rows | {f"tier {tier.name}": k for tier, k in above}
                )
    return best


def _in_integers(
    stock: Stock, worth: Sequence[float], shares: Mapping[int, float]
) -> Iterator[tuple[list[int], dict[int, int]]]:
    """Yield prices as integers: close ones, and small ones if they are parts of a room's.

    The small ones are for pods that are left out as a whole (:mod:`kantopt.verify.bounds.cover`):
    prices of shares are often parts of a room such as thirds or quarters.
    """
    scale = _SCALE / max(*worth, *shares.values())
    yield [round(scale * one) for one in worth], {z: round(scale * p) for z, p in shares.items()}
    room = max(best_pattern(room, worth, dict(shares))[0] for room, _ in stock.rooms)
    for parts in range(1, PARTS + 1 if room else 0):
        exact = {size: parts * price / room for size, price in shares.items()}
        small = {size: round(price) for size, price in exact.items()}
        if all(abs(exact[size] - price) < _CLOSE for size, price in small.items()):
            yield [0] * (len(worth) - 1) + [1], small
            return
