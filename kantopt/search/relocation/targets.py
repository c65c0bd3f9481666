"""Best fit: where a pod goes that must leave, the fullest node that takes it.

A pod without GPUs goes where there are none, if it can: of nodes with GPUs it would take what pods
with GPUs need beside them (scarce resource avoidance, as Volcano and Koordinator call it).
"""

from __future__ import annotations

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.search.relocation.movers import Movers
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import State, rooms


class Fullest:
    """Moves single pods to the node with the fewest GPUs left, then with the least of all else.

    Those without GPUs rather to nodes without any.
    """

    def __init__(self, state: State, movers: Movers) -> None:
        self._state, self._movers = state, movers
        self.most: Ints = np.maximum(state.offered.max(axis=1, initial=1), 1)
        """Most that any node offers of each resource."""
        self._gpus: Mask = np.array([node.gpu_milli > 0 for node in state.instance.nodes], bool)

    def size(self, s: int) -> float:
        """How large a pod is: by its GPUs first, then by its share of what nodes offer."""
        share = float((self._state.shape[s].demand / self.most).sum())
        return self._state.instance.podsets[s].gpu_milli * 1000 + share

    def move(self, s: int, source: Spot, mask: Mask) -> int | None:
        """Move a pod to one of some nodes; return that, ``None`` if none takes it."""
        state, movers = self._state, self._movers
        nodes = np.flatnonzero(mask & movers.targets(s, source))
        nodes = nodes[rooms(state, state.shape[s], 1, nodes) > 0]
        if not len(nodes):
            return None
        gpus = state.gpus_left(nodes)
        share = (state.left[:, nodes] / self.most[:, None]).sum(axis=0)
        scarce = self._gpus[nodes] & (not state.instance.podsets[s].gpu_milli)
        for i in np.lexsort((nodes, share, gpus, scarce)).tolist():
            n = int(nodes[i])
            if movers.move(s, source, n):
                return n
            left = movers.left()
            if left is not None and left <= 0:
                return None
        return None
