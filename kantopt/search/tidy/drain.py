"""Best fit decreasing: pods off the nodes to be emptied, the largest first, into the fullest.

Before them the jobs that go together, the largest first; after them ejection chains (Glover 1996)
of one link: others leave a node to whom no node takes as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.placement import Placement
from kantopt.search.relocation.movers import Movers
from kantopt.search.relocation.restarts import Restarts
from kantopt.search.shapes import mask_of
from kantopt.search.state import State, rooms
from kantopt.search.tidy.targets import Fullest

_MOST_WAYS = 20
"""Nodes that are tried for one pod."""
_MOST_LEAVING = 4
"""Pods that leave a node for one."""


class Drain:
    """Moves what can be moved off the nodes that are to be emptied."""

    def __init__(self, state: State) -> None:
        self.state, self.movers = state, Movers(state)
        self._restarts = Restarts(state)
        self._fullest = Fullest(state, self.movers)
        self._mask = ~mask_of(state.size, state.instance.drained)
        self._movable_on: dict[int, list[tuple[int, Spot]]] = {}
        """Where pods are that may move by themselves, by node."""
        for s, spots in enumerate(state.spots):
            for spot in sorted(spots) if self.movers.movable[s] else ():
                self._movable_on.setdefault(spot.node, []).append((s, spot))

    def restart(self, over: Callable[[], bool], found: Callable[[Placement], bool]) -> None:
        """Restart elsewhere each job that goes together, if that is ``found`` to be legal."""
        state, drained = self.state, self.state.instance.drained
        jobs = [j for j in self._restarts.jobs if self._restarts.nodes(j) & drained]
        jobs.sort(key=lambda j: (-state.instance.running_pods(j), j))
        for j in jobs:
            mark = state.mark()
            if over():
                return
            if self._restarts.move(j, self._mask) and not found(state.placement()):
                state.undo(mark)

    def run(self, over: Callable[[], bool]) -> list[int]:
        """Move each pod that another node takes; return where each move ends in the journal."""
        state, marks = self.state, list[int]()
        drained = state.instance.drained
        pods = [
            (s, spot)
            for s, spots in enumerate(state.spots)
            if self.movers.movable[s]
            for spot, k in sorted(spots.items())
            if spot.node in drained
            for _ in range(k)
        ]
        pods.sort(key=lambda pod: (-self._fullest.size(pod[0]), pod))
        for others_leave in (False, True):
            left = list[tuple[int, Spot]]()
            for s, spot in pods:
                if over():
                    return marks
                gone = self._fullest.move(s, spot, self._mask) is not None
                if gone or (others_leave and self._eject(s, spot)):
                    marks.append(state.mark())
                else:
                    left.append((s, spot))
            pods = left
        return marks

    def _eject(self, s: int, spot: Spot) -> bool:
        """Move a pod to a node that others leave for it, the fewest and smallest there are."""
        state = self.state
        ways = []
        for n in np.flatnonzero(self._mask & self.movers.targets(s, spot)).tolist():
            leaving = self._in_the_way(s, n)
            if leaving:
                sizes = [self._fullest.size(other) for other, _ in leaving]
                ways.append((len(leaving), sum(sizes), n, leaving))
        for *_, n, leaving in sorted(ways)[:_MOST_WAYS]:
            mark, only = state.mark(), mask_of(state.size, (n,))
            elsewhere = self._mask & ~only
            if all(self._fullest.move(*pod, elsewhere) is not None for pod in leaving) and (
                self._fullest.move(s, spot, only) is not None
            ):
                return True
            state.undo(mark)
        return False

    def _in_the_way(self, s: int, n: int) -> list[tuple[int, Spot]]:
        """Pods that have to leave a node for another: the smallest that does, else the largest."""
        pods = sorted(self._movable_on.get(n, ()), key=lambda pod: self._fullest.size(pod[0]))
        pods = [(o, at) for o, at in pods for _ in range(self.state.spots[o].get(at, 0))]
        for one in pods:
            if self._makes_room([one], s, n):
                return [one]
        few = pods[: -_MOST_LEAVING - 1 : -1]
        return next(
            (few[:k] for k in range(2, len(few) + 1) if self._makes_room(few[:k], s, n)), []
        )

    def _makes_room(self, leaving: list[tuple[int, Spot]], s: int, n: int) -> bool:
        state, mark = self.state, self.state.mark()
        for other, at in leaving:
            state.add(other, at, -1)
        room = rooms(state, state.shape[s], 1, np.array([n]))[0] > 0
        state.undo(mark)
        return bool(room)
