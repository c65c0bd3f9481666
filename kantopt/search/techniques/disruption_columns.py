"""The fewest evictions and moves, once it is settled how many pods are placed."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.search.columns.least import least_disruption
from kantopt.search.engine.desk import Desk
from kantopt.search.engine.incumbent import Incumbent
from kantopt.verify.disturbance import DISRUPTION


def disrupts(desk: Desk) -> bool:
    """Whether there may be a plan with less disruption that places as much."""
    return any(
        tier.metric in DISRUPTION and desk.incumbent.floor(i) < desk.incumbent.values[i]
        for i, tier in enumerate(desk.tiers)
    )


def disruption(desk: Desk, deadline: Deadline) -> None:
    """Prove how much disruption the placement takes at least, and look for plans with less."""

    def bound(tier: int, value: int) -> None:
        desk.proved(tier, value, desk.incumbent.values[:tier], "column-generation")

    seen = desk.incumbent
    if not seen.missing:
        best = Incumbent(
            desk.instance, desk.tiers, seen.placement, found=desk.found, known=seen.known
        )
        least_disruption(best, deadline, bound)
