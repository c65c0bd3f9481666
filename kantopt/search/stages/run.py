"""Which stage works when."""

from __future__ import annotations

from kantopt.search.stages.desk import Desk
from kantopt.search.stages.whole import whole


def run_stages(desk: Desk) -> bool:
    """Search until nothing is left to gain or the time is up.

    Returns whether there provably is no legal placement: a required job has no place.
    """
    return whole(desk, desk.budget.deadline)
