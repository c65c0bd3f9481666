"""What moves can bring at most where their number is limited."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.search.repair.bound import repair_bound
from kantopt.search.stages.desk import Desk


def ceiling(desk: Desk, deadline: Deadline) -> None:
    """Bound the first tier by prices of moves and of pods, node by node."""
    bound = repair_bound(desk.instance, desk.tiers, desk.values, deadline)
    if bound > desk.known.bound(0, desk.values).bound:
        desk.proved(0, bound, (), "column-generation")
