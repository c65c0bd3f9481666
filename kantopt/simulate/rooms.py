"""Room for pods on each node, kept up to date by shape: what can be told before a job is tried."""

from __future__ import annotations

import numpy as np

from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import State, rooms


class Rooms:
    """Pods that each node holds, by shape; renewed only for nodes that changed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._most: dict[int, int] = {}
        for podset in state.instance.podsets:
            shape = state.shape[podset.index].index
            self._most[shape] = max(self._most.get(shape, 1), podset.count)
        self._known: dict[int, Ints] = {}
        self._seen: dict[int, int] = {}

    def of(self, s: int) -> Ints:
        """Pods like those of a pod set that each node holds, open or not, as far as capacity goes.

        At most as many as the largest pod set of this shape has. Not to be changed.
        """
        state = self._state
        shape = state.shape[s]
        end = len(state.touched)
        known = self._known.get(shape.index)
        if known is None:
            known = rooms(state, shape, self._most[shape.index])
            self._known[shape.index] = known
        elif (seen := self._seen[shape.index]) < end:
            changed = set(state.touched[seen:end])
            nodes = np.fromiter(sorted(changed), dtype=np.int64, count=len(changed))
            known[nodes] = rooms(state, shape, self._most[shape.index], nodes)
        self._seen[shape.index] = end
        return known

    def on(self, s: int, mask: Mask) -> Ints:
        """Return the same on some nodes, 0 elsewhere."""
        return np.where(mask, self.of(s), 0)
