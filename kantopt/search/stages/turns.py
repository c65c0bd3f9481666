"""The searches that take turns once the quick bounds are told."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.search.stages import bins
from kantopt.search.stages.ceiling import ceiling
from kantopt.search.stages.desk import Desk
from kantopt.search.stages.disruption import disruption, disrupts
from kantopt.search.stages.nearby import nearby
from kantopt.search.stages.slots import slots
from kantopt.search.stages.whole import whole

QUICK = 0.25
"""Share of the time left for the whole question: small ones are proved by then."""
MOST = 0.95
"""Share for tiers of slots, which are mostly closed by their own stage."""
LONG = 0.6
"""Share for evictions and moves, which need their time and then change a lot."""
TURN = 0.4
"""Share for each of the other stages in turn after that."""
MORE = 6
"""Times the work for filling nodes than the last time."""
SHORT = 0.5
"""Seconds that are not worth dividing."""


def take_turns(desk: Desk) -> None:
    """Search until nothing is left to gain or the time is up."""
    desk.attempt(ceiling, _after(desk, LONG))
    desk.attempt(slots, _after(desk, MOST))
    if desk.done():
        return
    desk.attempt(bins.choose, _after(desk, QUICK), 0)
    whole(desk, _after(desk, QUICK), proving=1.0)
    turn, work = 0, MORE * bins.QUICK
    while not desk.done():
        desk.refresh()
        if turn % 3 == 0:
            desk.attempt(bins.bins, work)
            desk.attempt(bins.choose, _after(desk, TURN), turn + 1)
            work *= MORE
        until = _after(desk, (LONG, TURN, TURN)[turn % 3])
        match turn % 3:
            case 0 if disrupts(desk):
                desk.attempt(disruption, until)
            case 1:
                desk.attempt(nearby, until)
            case 2:
                whole(desk, until, proving=1.0)
        turn += 1


def _after(desk: Desk, share: float) -> Deadline:
    """Return the moment when a share of the time that is left has passed."""
    deadline = desk.budget.deadline
    left = deadline.remaining()
    return deadline.less(left * (1 - share)) if left > SHORT else deadline
