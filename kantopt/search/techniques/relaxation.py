"""Bounds from a relaxed question, small enough to be solved at once."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.cp.relaxed.bounds import relaxed_bounds
from kantopt.cp.relaxed.domains import worth_dividing
from kantopt.search.cutting import cutting_bounds
from kantopt.search.engine.desk import Desk

UNTIL_OPEN = "relaxation, to the first tier that stays open"


def relax(desk: Desk, deadline: Deadline) -> None:
    """Prove what merged nodes, pods and devices prove; takes milliseconds, seconds at most.

    Where counts of domains come next the tiers below one that stays open wait until that is done:
    it finds better plans, for which they would have to be proved anew. They do not come, and this
    has no other turn, where work is counted.
    """
    desk.tell_arithmetic()
    locks = desk.looked_at[UNTIL_OPEN] = desk.incumbent.values
    awaited = desk.budget.work is None and worth_dividing(desk.instance, desk.tiers)
    again = desk.before("relaxation") > 0
    beyond = again or not awaited

    def bound(tier: int, value: int) -> None:
        desk.proved(tier, value, locks[:tier], "relaxation-search")

    known = desk.incumbent.known.bounds(locks)
    asked = desk.instance, desk.tiers, locks, deadline
    # By its second turn the planner has closed most tiers, and fine classes take long.
    finest = again or awaited or desk.budget.work is not None
    left = relaxed_bounds(*asked, bound=bound, floors=known, beyond=beyond, finest=finest)
    if beyond and not left:
        desk.looked_at["relaxation"] = locks


def cut(desk: Desk, deadline: Deadline) -> None:
    """Prove what no patterns of shares of nodes and devices can hold."""
    locks = desk.looked_at["cutting-stock"] = desk.incumbent.values
    for tier, value in cutting_bounds(desk.instance, desk.tiers, locks, deadline):
        if value > desk.incumbent.known.bound(tier, locks).bound:
            desk.proved(tier, value, locks[:tier], "column-generation")
