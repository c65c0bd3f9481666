"""Ejection chains (Glover 1996) of one link: others leave a node for a pod that has no place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.search.relocation.movers import Movers
from kantopt.search.relocation.targets import Fullest
from kantopt.search.shapes import Ints, Mask, mask_of
from kantopt.search.state import State, rooms

_MOST_SEEN, _MOST_WAYS = 200, 20
"""Nodes that are looked at for one pod, those first that lack least; and of these tried."""
_MOST_LEAVING = 4
"""Pods that leave a node for one."""
_MOST_IN_VAIN = 500
"""Lifted pods for which nobody could make way, after which no more is tried."""


class Ejection:
    """Moves pods to nodes that others leave for it, who have not moved before."""

    def __init__(self, state: State, movers: Movers, fullest: Fullest) -> None:
        self._state, self._movers, self._fullest = state, movers, fullest
        self._movable_on: dict[int, list[tuple[int, Spot]]] = {}
        """Where pods are to begin with that may move by themselves, by node."""
        for s, spots in enumerate(state.spots):
            for spot in sorted(spots) if movers.movable[s] else ():
                self._movable_on.setdefault(spot.node, []).append((s, spot))
        self._vain = _MOST_IN_VAIN

    def move(
        self, s: int, spot: Spot, mask: Mask, open_to: Callable[[int], Mask] | None = None
    ) -> bool:
        """Move a pod to one of some nodes, others of these for whom it leaves; say if it could.

        ``open_to`` says where pods of a pod set may go that leave, if not to the same nodes.
        """
        state = self._state
        ways = []
        nodes = np.flatnonzero(mask & self._movers.targets(s, spot))
        for n in nodes[np.lexsort((nodes, self._lack(s, nodes)))][:_MOST_SEEN].tolist():
            leaving = self._in_the_way(s, n)
            if leaving:
                sizes = [self._fullest.size(other) for other, _ in leaving]
                ways.append((len(leaving), sum(sizes), n, leaving))
        for *_, n, leaving in sorted(ways)[:_MOST_WAYS]:
            mark, only = state.mark(), mask_of(state.size, (n,))
            for other, at in leaving:
                elsewhere = mask if open_to is None else open_to(other)
                if self._fullest.move(other, at, elsewhere & ~only) is None:
                    break
            else:
                if self._fullest.move(s, spot, only) is not None:
                    return True
            state.undo(mark)
        return False

    def fill(self, s: int, spot: Spot, pods: int, mask: Mask, open_to: Mask) -> int:
        """Place pods that were lifted off a spot as :meth:`move` does, and say how many it could.

        None any more when that was long in vain.
        """
        for placed in range(pods):
            self._state.add(s, spot, 1)  # as if it had not left yet
            if not self._vain or not self.move(s, spot, mask, lambda _: open_to):
                self._vain -= self._vain > 0
                self._state.add(s, spot, -1)
                return placed
        return pods

    def _lack(self, s: int, nodes: Ints) -> Ints:
        """What nodes lack for a pod, each resource as a share of the most that any node offers."""
        shape, most, left = self._state.shape[s], self._fullest.most, self._state.left
        asked = (np.maximum(a - left[r, nodes], 0) * 1000 // most[r] for r, a in shape.takes)
        return np.asarray(sum(asked, start=np.zeros(len(nodes), dtype=np.int64)))

    def _in_the_way(self, s: int, n: int) -> list[tuple[int, Spot]]:
        """Pods that have to leave a node for another: the smallest that does, else the largest."""
        pods = sorted(self._movable_on.get(n, ()), key=lambda pod: self._fullest.size(pod[0]))
        pods = [(o, at) for o, at in pods for _ in range(self._state.spots[o].get(at, 0))]
        for one in pods:
            if self._makes_room([one], s, n):
                return [one]
        few = pods[: -_MOST_LEAVING - 1 : -1]
        return next(
            (few[:k] for k in range(2, len(few) + 1) if self._makes_room(few[:k], s, n)), []
        )

    def _makes_room(self, leaving: list[tuple[int, Spot]], s: int, n: int) -> bool:
        state, mark = self._state, self._state.mark()
        for other, at in leaving:
            state.add(other, at, -1)
        room = rooms(state, state.shape[s], 1, np.array([n]))[0] > 0
        state.undo(mark)
        return bool(room)
