"""Whom do new pods hurt? Where all of them go, and who leaves for them, at once.

Fix-and-optimize (Gintner, Kliewer and Suhl 2005): who is placed and who does not move is fixed, the
rest is one exact model. A gang that goes as a whole leaves room on many nodes: looking at a few
nodes at a time does not show that another one would do. No bound comes of it: others may move.
"""

from __future__ import annotations

from itertools import takewhile

from kantopt.clock import Deadline
from kantopt.cp.fix_and_optimize import descents
from kantopt.problem.derived.settled import settled
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import DISTURBING, OF_WHO_IS_PLACED, Tier
from kantopt.search.cascade import evicts
from kantopt.search.engine.desk import Desk
from kantopt.search.techniques.cp_sat import counts

NAME = "fix-and-optimize"
FEWEST = 8_000
"""Counts of the whole question: fewer are searched exactly before long."""
LARGEST = 10_000
"""Most counts in a model: larger ones better less than neighbourhoods do in the same time."""


def optimize(desk: Desk, deadline: Deadline) -> None:
    """Better who is evicted, and all that is asked for with it, while as many are placed."""
    desk.looked_at[NAME] = desk.incumbent.values
    tiers = of_victims(desk.tiers)
    proved = next(i for i, tier in enumerate(tiers) if tier == desk.incumbent.first_open)
    proved -= sum(tier.of_waiting for tier in tiers[:proved])
    placed = desk.incumbent.placement
    small = settled(desk.instance, placed)
    if desk.budget.plain:
        return
    # Of goals for who waits nothing changes, and they would have to be measured of all who do.
    weighed = [tier for tier in tiers if not tier.of_waiting]
    for found in descents(small.instance, weighed, small.shrink(placed), proved, deadline):
        desk.judged(small.expand(found))
        if desk.done():
            return


def gangs_stay(desk: Desk) -> str:
    """Say why victims are not chosen anew: none of what is open first is about gangs that go."""
    if desk.incumbent.missing or desk.incumbent.first_open not in of_victims(desk.tiers):
        return "something else is open first"
    if not evicts(desk.instance, desk.incumbent.placement):
        return "nobody is evicted"
    if not _gangs_may_go(desk.instance):
        return "no gang of several pods may be evicted"
    if counts(desk.instance, moves=True) < FEWEST:
        return "the whole is searched before long"
    small = settled(desk.instance, desk.incumbent.placement).instance
    return "the model is too large" if counts(small, moves=True) > LARGEST else ""


def of_victims(tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
    """Return the first tiers, as far as only who is placed, evicted and moved matters to them."""
    metrics = {*OF_WHO_IS_PLACED, *DISTURBING}
    return tuple(takewhile(lambda tier: tier.metric in metrics, tiers))


def _gangs_may_go(instance: Instance) -> bool:
    may = freedom_of(instance).evictions
    running = (podset for podset in instance.podsets if podset.running and podset.count > 1)
    return any(may[p.index] and instance.jobs[p.job].is_gang for p in running)
