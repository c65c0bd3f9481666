"""Bounds from a relaxed question, small enough to be solved at once."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.cp.relaxed.bounds import relaxed_bounds
from kantopt.search.cutting import cutting_bounds
from kantopt.search.engine.desk import Desk


def relax(desk: Desk, until: Deadline) -> None:
    """Prove what merged nodes, pods and devices prove; takes milliseconds, seconds at most."""
    desk.tell_arithmetic()
    locks = desk.looked_at["relaxation"] = desk.incumbent.values

    def bound(tier: int, value: int) -> None:
        desk.proved(tier, value, locks[:tier], "relaxation-search")

    relaxed_bounds(desk.instance, desk.tiers, locks, until, bound=bound)


def cut(desk: Desk, until: Deadline) -> None:
    """Prove what no patterns of shares of nodes and devices can hold."""
    locks = desk.looked_at["cutting-stock"] = desk.incumbent.values
    for tier, value in cutting_bounds(desk.instance, desk.tiers, locks, until):
        if value > desk.incumbent.known.bound(tier, locks).bound:
            desk.proved(tier, value, locks[:tier], "column-generation")
