"""Gangs and topology domains: bounds with the domains apart, and plans made after their counts."""

from __future__ import annotations

from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.cp.relaxed.hints import Aim
from kantopt.cp.relaxed.towards import Best, Towards
from kantopt.search.construct import How, construct
from kantopt.search.engine.desk import Desk
from kantopt.search.exchange import exchange
from kantopt.search.realise import Wanted, realise
from kantopt.search.strategy import DEFAULT_PORTFOLIO
from kantopt.search.techniques.relaxation import UNTIL_OPEN, relax


def divided(desk: Desk, deadline: Deadline) -> None:
    """Work through the tiers with the nodes of each domain counted together.

    Counts may be better than what can be made of them. The fast path goes on from each new best
    plan: what is right above may leave out much below.
    """
    if desk.incumbent.missing:
        return

    def bound(tier: int, value: int) -> None:
        desk.proved(tier, value, desk.incumbent.values[:tier], "relaxation-search")

    def best() -> Best:
        return Best(desk.incumbent.placement, desk.incumbent.values)

    completed = desk.incumbent.placement  # as the fast path does
    left_out = desk.tally.without

    def aim(counts: Aim) -> bool:
        nonlocal completed
        wanted = [Wanted(podsets, where, movable) for podsets, movable, where in counts.kinds]
        placement = realise(desk.instance, counts.classes, wanted)
        legal = placement is not None and desk.judged(placement)
        if placement is not None and legal and "exchange" not in left_out:
            exchanged = exchange(desk.instance, placement, desk.tiers, deadline)
            if exchanged is not placement:
                desk.judged(exchanged)
        found = desk.incumbent.placement
        if found is not completed and desk.incumbent.leaves_out():
            completed = found
            strategy, relocate = DEFAULT_PORTFOLIO[0], "relocation" not in left_out
            made = construct(desk.instance, deadline, How(strategy, relocate=relocate, start=found))
            desk.judged(made)
        return legal

    towards = Towards(
        desk.instance,
        desk.tiers,
        replace(desk.budget, deadline=deadline),
        known=desk.incumbent.floor,
        bound=bound,
        aim=aim,
        best=best,
        hear=desk.refresh,
        renew=lambda: relax(desk, desk.budget.deadline),
        renewed=desk.looked_at.get(UNTIL_OPEN, ()),
    )
    come_true = towards.run(glance=desk.glance)
    desk.come_true = desk.glance and come_true
