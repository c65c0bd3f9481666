"""Gangs and topology domains: bounds with the domains apart, and plans made after their counts."""

from __future__ import annotations

from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.cp.relaxed.towards import Aim, Best, Towards
from kantopt.search.engine.desk import Desk
from kantopt.search.exchange import exchange
from kantopt.search.realise import Wanted, realise
from kantopt.search.techniques.relaxation import relax


def divided(desk: Desk, deadline: Deadline) -> None:
    """Work through the tiers with the nodes of each domain counted together."""
    if desk.best is None:
        return

    def bound(tier: int, value: int) -> None:
        desk.proved(tier, value, desk.values[:tier], "relaxation-search")

    def best() -> Best:
        assert desk.best is not None
        return Best(desk.best, desk.values)

    def aim(counts: Aim) -> None:
        wanted = [Wanted(podsets, where, movable) for podsets, movable, where in counts.kinds]
        placement = realise(desk.instance, counts.classes, wanted)
        if placement is not None and desk.judged(placement):
            exchanged = exchange(desk.instance, placement, desk.tiers, deadline)
            if exchanged is not placement:
                desk.judged(exchanged)

    towards = Towards(
        desk.instance,
        desk.tiers,
        replace(desk.budget, deadline=deadline),
        known=lambda i: desk.known.bound(i, desk.values).bound,
        bound=bound,
        aim=aim,
        best=best,
        renew=lambda: relax(desk),
    )
    towards.run()
