"""A bound where room is left over: shares of a node or a device that do not go together."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.clock import Deadline
from kantopt.cp.cutting import share_prices
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.verify.stock import cuts, least_missing, stock_of

_SCALE = 2**32
"""Of prices in integers."""


def cutting_bounds(
    instance: Instance, tiers: Sequence[Tier], values: Sequence[int], deadline: Deadline
) -> list[tuple[int, int]]:
    """Bound what stays unplaced for want of room in one piece, tier by tier.

    A linear program proposes prices of shares of rooms; rounded to integers they make a bound by
    exact arithmetic (:func:`kantopt.verify.stock.least_missing`), whatever they are.

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
    held: list[int] = []
    for i, tier in enumerate(tiers):
        if tier.metric is not Metric.UNPLACED or tier.surplus or tier.unit == "jobs":
            continue
        asked = (*(tiers[k] for k in held), tier)
        left = [tiers[k].most(values[k]) for k in held]
        best = 0
        for cut in cuts(instance):
            stock = None if deadline.over() else stock_of(instance, asked, cut)
            prices = None if stock is None else share_prices(stock, left, deadline.over)
            if stock is None or prices is None:
                continue
            worth, shares = prices
            most = max(*worth, *shares.values())
            scale = _SCALE / most
            rounded = [round(scale * one) for one in worth]
            whole = {size: round(scale * price) for size, price in shares.items()}
            best = max(best, least_missing(stock, left, rounded, whole))
        if tier.above_target(best):
            found.append((i, tier.above_target(best)))
        held.append(i)
    return found
