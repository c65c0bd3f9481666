"""Which stage works when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.search.parts.division import parts_of, summed
from kantopt.search.stages.apart import apart
from kantopt.search.stages.ceiling import ceiling
from kantopt.search.stages.desk import Desk
from kantopt.search.stages.disruption import disruption, disrupts
from kantopt.search.stages.nearby import nearby
from kantopt.search.stages.relax import relax
from kantopt.search.stages.slots import slots
from kantopt.search.stages.whole import whole

QUICK = 0.25
"""Share of the time left for the whole question: small ones are proved by then."""
LONG = 0.6
"""Share for evictions and moves, which need their time and then change a lot."""
TURN = 0.4
"""Share for each of the other stages in turn after that."""
SHORT = 0.5
"""Seconds that are not worth dividing."""


def run_stages(desk: Desk) -> bool:
    """Search until nothing is left to gain or the time is up.

    What shares nothing is searched apart first, as far as the first tiers are sums over parts.
    Returns whether there provably is no legal placement: a required job has no place.
    """
    tiers = desk.tiers[: summed(desk.instance, desk.tiers)]
    parts = parts_of(desk.instance, tiers) if tiers and not desk.forbidden else ()
    if len(parts) < 2:
        return _undivided(desk)
    budget, whole_tiers = desk.budget, len(tiers) == len(desk.tiers)
    if not whole_tiers:
        deadline = budget.deadline.less(budget.deadline.remaining() / 2)
        work = None if budget.work is None else budget.work / 2
        budget = desk.budget = replace(budget, work=work)
        budget = replace(budget, deadline=deadline)
    if apart(desk, parts, tiers, budget, _undivided):
        return True
    # Where work is counted the parts have had all there is.
    spent = whole_tiers and budget.work is not None
    return not (desk.done() or spent) and _undivided(desk)


def _undivided(desk: Desk) -> bool:
    budget = desk.budget
    if desk.best is None or desk.forbidden:
        return whole(desk, budget.deadline)
    _attempt(desk, relax)
    if desk.done():
        return False
    if budget.work is not None:
        return whole(desk, budget.deadline)
    _attempt(desk, ceiling, _after(desk, LONG))
    _attempt(desk, slots, _after(desk, LONG))
    if desk.done():
        return False
    whole(desk, _after(desk, QUICK), proving=1.0)
    turn = 0
    while not desk.done():
        desk.refresh()
        share = (LONG, TURN, TURN)[turn % 3] if budget.deadline.remaining() > SHORT else 1.0
        until = _after(desk, share)
        match turn % 3:
            case 0 if disrupts(desk):
                _attempt(desk, disruption, until)
            case 1:
                _attempt(desk, nearby, until)
            case 2:
                whole(desk, until, proving=1.0)
        turn += 1
    return False


def _after(desk: Desk, share: float) -> Deadline:
    """Return the moment when a share of the time that is left has passed."""
    deadline = desk.budget.deadline
    return deadline.less(deadline.remaining() * (1 - share))


def _attempt(desk: Desk, stage: Callable[..., None], *arguments: object) -> None:
    """Run a stage whose faults must not cost what the others find."""
    try:
        stage(desk, *arguments)
    except Exception as error:
        desk.note(f"a stage of the search failed ({stage.__name__}): {error!r}")
