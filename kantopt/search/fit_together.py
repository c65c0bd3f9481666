"""How many pods of a set fit beside each other, where it matters who is near."""

from __future__ import annotations

from kantopt.search.insertion.fill import place_one, room_for
from kantopt.search.insertion.scores import Scores
from kantopt.search.shapes import Mask
from kantopt.search.state import State
from kantopt.search.strategy import Strategy

COUNTED = 1000
"""Pods that are counted one by one; of more it is what each node holds by itself."""


def fit_together(state: State, s: int, most: int, within: Mask | None = None) -> int:
    """Return how many of ``most`` pods of a pod set fit together, each where neighbours admit it.

    Of pods that nobody looks at it is the sum of what nodes hold. Others are placed one after the
    other and taken away again: so many do fit, whatever closes nodes to those behind them.
    """
    room = room_for(state, s, most, within)
    total = min(most, int(room.sum()))
    if not total or not state.neighbours.concern(s) or most > COUNTED:
        return total
    found = 0
    for region in state.neighbours.regions(s):
        mask = region if within is None else region & within
        if min(most, int(room[mask].sum())) <= found:
            continue
        found = max(found, _placed(state, s, most, mask & state.allowed(s)))
    return found


def _placed(state: State, s: int, most: int, mask: Mask) -> int:
    scores, mark, placed = Scores(state, Strategy.BEST_FIT), state.mark(), 0
    while placed < most and place_one(scores, s, mask):
        placed += 1
    state.undo(mark)
    return placed
