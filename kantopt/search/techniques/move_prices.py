"""What moves can bring at most where their number is limited, and the fewest that bring as much."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.search.engine.desk import Desk
from kantopt.search.engine.known import Numbers
from kantopt.search.repair.bound import change_prices


def ceiling(desk: Desk, deadline: Deadline) -> None:
    """Bound tiers by prices of moves and of pods, node by node."""
    start = None
    for i in range(len(desk.tiers)):
        values = desk.incumbent.values
        if desk.incumbent.known.bound(i, values).bound >= values[i]:
            continue
        found = change_prices(desk.instance, desk.tiers, values, i, deadline.cuts, start=start)
        if found is None:
            continue
        start = found.prices
        if found.bound > desk.incumbent.known.bound(i, values).bound:
            numbers = Numbers("changes", found.denominator, tuple(found.multipliers.items()))
            desk.proved(i, found.bound, values[:i], "column-generation", numbers)
