"""Knapsacks that are covered by the cheapest items, the last one in part (Dantzig 1957)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

Lot = tuple[int | Fraction, int, int]
"""What each of some alike items costs, how much it holds, and their number."""


def least_in_part(lots: Iterable[Lot], wanted: int) -> int:
    """Return the least that items cost which hold so much, rounded up; all of them if they do not.

    At any price ``p`` that is ``p wanted - sum of max(0, p a_i - cost_i)`` at least, and at that
    of the last item as much: in whatever order rounding has put them, this is a bound.
    """
    giving = sorted((lot for lot in lots if lot[1]), key=lambda lot: lot[0] / lot[1])
    left = wanted
    for price, per, number in giving:
        left -= per * number
        if left <= 0:
            won = sum(k * max(0, price * holds - cost * per) for cost, holds, k in giving)
            return max(0, -((won - price * wanted) // per))
    return ceil(sum(cost * number for cost, _, number in giving))
