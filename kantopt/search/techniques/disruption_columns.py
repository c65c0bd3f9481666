"""The fewest evictions and moves, once it is settled how many pods are placed."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.search.columns.least import least_disruption
from kantopt.search.columns.program import DISRUPTION
from kantopt.search.engine.desk import Desk


def disrupts(desk: Desk) -> bool:
    """Whether there may be a plan with less disruption that places as much."""
    return any(
        tier.metric in DISRUPTION and desk.known.bound(i, desk.values).bound < desk.values[i]
        for i, tier in enumerate(desk.tiers)
    )


def disruption(desk: Desk, deadline: Deadline) -> None:
    """Prove how much disruption the placement takes at least, and look for plans with less."""

    def bound(tier: int, value: int) -> None:
        desk.proved(tier, value, desk.values[:tier], "column-generation")

    if desk.best is not None:
        least_disruption(
            desk.instance, desk.tiers, desk.best, deadline, found=desk.found, bound=bound
        )
