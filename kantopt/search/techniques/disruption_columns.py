"""The fewest evictions and moves, once it is settled how many pods are placed."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.search.columns.least import least_disruption
from kantopt.search.columns.program import DISRUPTION
from kantopt.search.engine.desk import Desk


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

    if not desk.incumbent.missing:
        least_disruption(
            desk.instance,
            desk.tiers,
            desk.incumbent.placement,
            deadline,
            found=desk.found,
            bound=bound,
        )
