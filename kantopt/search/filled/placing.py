"""Loads of devices onto nodes, so that what is left of every node goes with its free devices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from kantopt.problem.cluster import Spot
from kantopt.search.filled.loads import Load
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import UNLIMITED, State, best_devices, rooms

_CROWDED = 0.5
"""Free devices that a node without any counts as."""
_UNFIT = -np.inf


class Placing:
    """Nodes with their free devices by kind, and what a device needs of its node in the mean."""

    def __init__(self, state: State, kinds: Sequence[Sequence[Sequence[int]]]) -> None:
        """Take a state and, of each kind of device, the free ones of each node by index."""
        self._state = state
        self._free = [[list(devices) for devices in nodes] for nodes in kinds]
        self._count: Ints = np.array([[len(d) for d in nodes] for nodes in kinds], dtype=np.int64)
        self._sets: dict[frozenset[int], int] = {}
        """Numbers of sets of nodes that pods may go to."""
        self._limited: Mask = np.all(state.capacity < UNLIMITED // 2, axis=1)

    def place(self, loads: Sequence[Load], *, last: bool) -> list[Load]:
        """Place loads, those on several devices first, then heavy ones; return what is left.

        Each goes where the least that is left for each free device is the most, of the resources
        that loads ask for. So light loads find what heavy ones have left them. Those on no device
        come before those on one, or ``last``.
        """
        total = sum((load.request for load in loads), np.zeros_like(self._state.capacity[:, 0]))
        self._asked = np.flatnonzero(self._limited & (total > 0))
        self._mean = (total / max(1, int(self._count.sum())))[self._asked]

        def order(load: Load) -> tuple[bool, int, float, tuple[object, ...]]:
            several = load.devices if load.devices > 1 else 0
            weighs = (load.request[self._asked] / self._mean).max(initial=0.0)
            return (load.devices == 0) == last, -several, -float(weighs), self._alike(load)

        rest: list[Load] = []
        for _, alike in groupby(sorted(loads, key=order), self._alike):
            rest += self._place(list(alike))
        return rest

    def _alike(self, load: Load) -> tuple[object, ...]:
        """Return what loads that may go to the same nodes have in common."""
        podsets = self._state.instance.podsets
        allowed = {self._sets.setdefault(podsets[s].allowed, len(self._sets)) for s in load.podsets}
        return load.devices, load.room, load.request.tolist(), sorted(allowed)

    def _place(self, loads: Sequence[Load]) -> list[Load]:
        """Place loads that are alike; of the scores only that of the node used last is new."""
        nodes = np.arange(self._state.size)
        scores = self._scores(loads[0], nodes)
        for k, load in enumerate(loads):
            n = int(scores.argmax()) if len(scores) else 0
            if not len(scores) or scores[n] == _UNFIT or not self._put(load, n):
                return list(loads[k:])
            scores[n] = self._scores(load, nodes[n : n + 1])[0]
        return []

    def _scores(self, load: Load, nodes: Ints) -> NDArray[np.float64]:
        """What would be left of nodes for each of their free devices."""
        state = self._state
        able = self._count[load.room, nodes] >= load.devices
        for r in np.flatnonzero(load.request).tolist():
            able &= state.free[r, nodes] >= load.request[r]
        for s in {self._state.instance.podsets[s].allowed: s for s in load.podsets}.values():
            able &= state.allowed(s)[nodes]
        devices = self._count[:, nodes].sum(axis=0) - load.devices
        left = state.free[np.ix_(self._asked, nodes)].T - load.request[self._asked]
        least = (left / self._mean).min(axis=1, initial=float(UNLIMITED))
        if load.devices > 1:  # where others like it would find too few devices anyway
            score = least / (1.0 + least) - devices
        else:
            score = least / np.maximum(devices, _CROWDED)
        found: NDArray[np.float64] = np.where(able, score, _UNFIT)
        return found

    def _put(self, load: Load, n: int) -> bool:
        """Place a load on a node with room for it; say whether quotas admit it."""
        state = self._state
        mark = state.mark()
        spot = Spot(n, tuple(self._free[load.room][n][: load.devices]))
        for s in load.podsets:
            if not state.admitted(s, 1):
                state.undo(mark)
                return False
            state.add(s, spot, 1)
        del self._free[load.room][n][: load.devices]
        self._count[load.room, n] -= load.devices
        return True


def place_alone(state: State, s: int) -> bool:
    """Place a pod wherever there is room, on the node with the least left."""
    if not state.admitted(s, 1):
        return False
    nodes = np.flatnonzero(state.allowed(s) & (rooms(state, state.shape[s], 1) > 0))
    if not len(nodes):
        return False
    n = int(nodes[state.gpus_left()[nodes].argmin()])
    devices = best_devices(state, s, n)
    if devices is None:
        return False
    state.add(s, Spot(n, devices), 1)
    return True
