"""Best fit decreasing: pods off the nodes to be emptied, the largest first, into the fullest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kantopt.problem.placement import Placement
from kantopt.search.movers import Movers
from kantopt.search.state import State
from kantopt.search.tidy.targets import Fullest


class Drain:
    """Moves what can be moved off the nodes that are to be emptied."""

    def __init__(self, state: State) -> None:
        self.state, self.movers = state, Movers(state)
        self._fullest = Fullest(state, self.movers)

    def run(self, over: Callable[[], bool]) -> Placement:
        """Move each pod that another node takes; return the placement then."""
        state = self.state
        drained = state.instance.drained
        mask = np.ones(state.size, dtype=np.bool_)
        mask[sorted(drained)] = False
        pods = [
            (s, spot)
            for s, spots in enumerate(state.spots)
            if self.movers.movable[s]
            for spot, k in sorted(spots.items())
            if spot.node in drained
            for _ in range(k)
        ]
        pods.sort(key=lambda pod: (-self._fullest.size(pod[0]), pod))
        for s, spot in pods:
            if over():
                break
            self._fullest.move(s, spot, mask)
        return state.placement()
