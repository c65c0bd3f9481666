"""Neighbourhoods of the incumbent, one after the other."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.search.engine.desk import Desk
from kantopt.search.neighbourhoods.neighbourhoods import Neighbourhoods
from kantopt.shares import NEIGHBOURHOOD


def nearby(desk: Desk, deadline: Deadline) -> None:
    """Free a few nodes at a time and solve what they hold, for as long as there is time."""
    if desk.incumbent.missing:
        return
    search = Neighbourhoods(
        desk.instance, desk.tiers, desk.incumbent.placement, desk.budget.seed, desk.budget.deadline
    )
    while not deadline.over() and not desk.done():
        if desk.refresh():
            search.adopt(desk.incumbent.placement)
        better = search.step(min(NEIGHBOURHOOD, deadline.remaining()))
        if better is not None:
            desk.found(better)
