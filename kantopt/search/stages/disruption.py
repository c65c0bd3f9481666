"""The fewest evictions and moves, once it is settled how many pods are placed."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.search.columns.least import least_disruption
from kantopt.search.columns.program import DISRUPTION
from kantopt.search.stages.desk import Desk


def concerns(desk: Desk) -> bool:
    """Whether the first tier that is not proved is one of disruption."""
    i = desk.first_open()
    return i is not None and desk.tiers[i].metric in DISRUPTION


def disruption(desk: Desk, deadline: Deadline) -> None:
    """Prove how much disruption the placement takes at least, and look for plans with less."""

    def bound(tier: int, value: int) -> None:
        desk.proved(tier, value, desk.values[:tier], "column-generation")

    if desk.best is not None:
        least_disruption(
            desk.instance, desk.tiers, desk.best, deadline, found=desk.found, bound=bound
        )
