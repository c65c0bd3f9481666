"""Bring a plan nearer to the last one: pods that differ go where that wants them, by themselves,
in pairs, or in exchange with the pods that are there.

A search that betters an objective by one move often changes others on its way, for places that are
as good. Each step here is judged as a whole, so it is taken only where no objective loses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kantopt.problem.cluster import Spot
from kantopt.problem.placement import Placement, Spots
from kantopt.search.engine.incumbent import Incumbent

MOST_TRIES = 3000
"""Most changes to try: each is judged, and without a clock nothing else would end it."""
Change = dict[int, Spots]
"""Spots of some pod sets."""


def nearer(best: Incumbent, last: Placement, over: Callable[[], bool], by: str) -> None:
    """Try single changes towards the last plan until none is taken or it is late.

    Parameters
    ----------
    best
        The plan; takes what is better.
    last
        Where that leads of the last plan which can still be done.
    over
        Whether the time is up.
    by
        Name of the technique.
    """
    taken, tries = True, 0
    while taken:
        taken = False
        for change in _changes(best.placement, last):
            tries += 1
            if over() or tries > MOST_TRIES:
                return
            if best.offer(best.placement.replace(change), by):
                taken = True
                break  # what differs is something else now


def _changes(now: Placement, last: Placement) -> Iterator[Change]:
    """Yield changes: one pod set as in the last plan, two of them, one in exchange."""
    differ = [s for s, spots in enumerate(now.podsets) if spots != last.podsets[s]]
    for s in differ:
        yield {s: last.podsets[s]}
    for i, s in enumerate(differ):
        for t in differ[:i]:
            yield {s: last.podsets[s], t: last.podsets[t]}
    for s in differ:
        mine = _single(now.podsets[s])
        wanted = _single(last.podsets[s])
        if mine is None or wanted is None:
            continue
        for t, spots in enumerate(now.podsets):
            theirs = _single(spots)
            if t != s and theirs is not None and theirs.node == wanted.node:
                # A place of devices that it asks for otherwise is no place, as the judge will say.
                yield {s: last.podsets[s], t: {mine: 1}}


def _single(spots: Spots) -> Spot | None:
    """Return the spot of a pod set that has one pod placed."""
    if len(spots) != 1:
        return None
    ((spot, pods),) = spots.items()
    return spot if pods == 1 else None
