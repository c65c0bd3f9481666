"""The whole question as one model for CP-SAT, tier after tier."""

from __future__ import annotations

from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.cp.solve import solve_tiers
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Metric
from kantopt.search.engine.desk import Desk
from kantopt.verify.step import Step

LARGEST = 500_000
"""Most counts in a model; beyond, building it alone would eat the time and the memory."""
SMALL, PACE = 20_000, 5_000
"""Most counts for a first look at the whole, and most for each second that it has."""
_LARGE = "too large for one exact model, only parts of it were searched exactly"


def whole(desk: Desk, deadline: Deadline) -> bool:
    """Search the whole question; say whether it provably has no legal placement at all.

    Where the model with moves would be too large, running pods stay or are evicted, and nothing is
    proved.
    """
    moves = counts(desk.instance, moves=True) <= LARGEST
    if not moves:
        least = counts(desk.instance, moves=False)
        if least > LARGEST:
            desk.note(f"{_LARGE}: {least} counts of {LARGEST} at most")
            return False
        if not desk.incumbent.missing and _moves_pods(desk.instance, desk.incumbent.placement):
            desk.note(f"{_LARGE} with pods that may move")
            return False
        desk.note(f"{_LARGE} with pods that may move: searched without moves, which proves nothing")

    def closed(tier: int, bound: int, locks: tuple[int, ...]) -> None:
        if moves and bound > desk.incumbent.known.bound(tier, locks).bound:
            desk.proved(tier, bound, locks, "cp-sat")

    lazy = _evictions_proved(desk)
    model = PlacementModel(desk.instance, forbidden=desk.forbidden, moves=moves, lazy=lazy)
    # Where others look for better plans all the time goes into proofs.
    others = not desk.incumbent.missing and not desk.forbidden and desk.budget.work is None
    proving = {"proving": 1.0} if others else {}
    # A model without moves cannot say what came from elsewhere, if that moves pods.
    refresh = desk.refresh if moves else lambda: False
    impossible = solve_tiers(
        model,
        replace(desk.budget, deadline=deadline),
        desk.incumbent,
        closed=closed,
        refresh=refresh,
        asked=desk.asked,
        glance=desk.glance,
        **proving,
    )
    return impossible and moves


def _evictions_proved(desk: Desk) -> bool:
    """Whether it is proved how many are evicted: then nobody is who could be spared."""
    best, tiers = desk.incumbent, enumerate(desk.tiers)
    evictions = [i for i, tier in tiers if tier.metric is Metric.EVICTIONS]
    if best.missing or not evictions:
        return False
    return all(best.values[i] <= best.floor(i) for i in range(max(evictions) + 1))


def too_large_for_a_glance(instance: Instance, seconds: float) -> bool:
    """Whether so many seconds are too few for a first look at the whole question."""
    return counts(instance, moves=True) > min(SMALL, PACE * seconds)


def _moves_pods(instance: Instance, placement: Placement) -> bool:
    step = Step(instance, instance.current, placement)
    return any(step.moved(podset.index) for podset in instance.podsets if podset.running)


def counts(instance: Instance, *, moves: bool) -> int:
    """Counts that a model needs: pods of each pod set that stay, arrive, occupy a device."""
    found, may = 0, freedom_of(instance)
    for podset in instance.podsets:
        found += len(podset.current)
        if may.binds[podset.index] or (moves and may.moves[podset.index]):
            wide = 1 + (8 if podset.devices else 0)
            found += wide * len(podset.allowed)
    return found
