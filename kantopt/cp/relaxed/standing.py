"""Regions that gangs use already beyond the fewest, with pods that cannot move."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.closeness import CLOSENESS


def standing_excess(instance: Instance, tiers: Sequence[Tier]) -> dict[int, tuple[int, ...]]:
    """Return for jobs with pods that cannot move what these use beyond the fewest regions.

    One entry for each of some tiers about closeness; jobs with nothing beyond are left out.
    """
    if not tiers:
        return {}
    moves = freedom_of(instance).moves
    stuck = Placement(
        tuple({} if moves[podset.index] else podset.current for podset in instance.podsets)
    )
    by_tier = [CLOSENESS[tier.metric](tier, instance, stuck) for tier in tiers]
    jobs = sorted({j for excess in by_tier for j, beyond in excess.items() if beyond})
    return {j: tuple(excess[j] for excess in by_tier) for j in jobs}
