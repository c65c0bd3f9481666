"""Pods that wait onto what is free: what it is worth, over many rooms at once, and doing it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.search.repair.board import Board
from kantopt.search.shapes import Ints, Mask, PodShape
from kantopt.search.state import UNLIMITED, best_devices

_ANY = -(2**62)
"""Less than any amount: whoever asks for nothing fits where less than nothing is left, too."""


@dataclass(slots=True)
class WaitingKind:
    """Pods that wait and that nothing but their names tells apart."""

    shape: PodShape
    allowed: Mask
    everywhere: bool
    worth: int
    podsets: list[int]
    left: int = 0


@dataclass(slots=True)
class Rooms:
    """What candidates leave free of one node each; changed by :meth:`Filling.worth`."""

    node: Ints
    free: Ints
    """Resources x candidates."""
    devices: Ints
    """Device resources x candidates x devices."""


class Filling:
    """Fills nodes with pods that wait, those that count most first, of these the lightest."""

    def __init__(self, board: Board, weights: Sequence[int]) -> None:
        self.board = board
        state, instance = board, board.instance
        size = state.offered.sum(axis=1).clip(1)
        kinds: dict[Hashable, WaitingKind] = {}
        self.kind_of: dict[int, WaitingKind] = {}
        for podset in instance.podsets:
            s = podset.index
            if podset.running or not weights[s] or not board.restless[s]:
                continue
            shape, mask = state.shape[s], state.allowed(s)
            everywhere = bool(mask.all())
            queue = instance.job_of(s).queue
            kin = state.neighbours.kin(s)
            key = (shape.index, None if everywhere else podset.allowed, queue, weights[s], kin)
            if key not in kinds:
                kinds[key] = WaitingKind(shape, mask, everywhere, weights[s], [])
            kinds[key].podsets.append(s)
            self.kind_of[s] = kinds[key]
        self.kinds = sorted(
            kinds.values(), key=lambda k: (-k.worth, float((k.shape.demand / size).sum()))
        )
        for kind in self.kinds:
            kind.left = sum(self.waiting(s) for s in kind.podsets)
        planes = len(state.device_resources)
        resources = len(instance.resources)
        self._least: Ints = np.full((len(self.kinds), resources + planes), _ANY, dtype=np.int64)
        """Of the resources of nodes and of devices, least that a pod of each kind needs to find."""
        for k, kind in enumerate(self.kinds):
            for r, amount in kind.shape.asks:
                self._least[k, r] = amount
            for need in kind.shape.needs:
                for plane, amount in need.ask:
                    at = resources + plane
                    self._least[k, at] = max(int(self._least[k, at]), amount)
        board.watchers.append(self._watch)

    def _watch(self, s: int, pods: int) -> None:
        kind = self.kind_of.get(s)
        if kind is not None:
            kind.left -= pods

    def waiting(self, s: int) -> int:
        """Pods of a pod set that are not placed."""
        return self.board.instance.podsets[s].count - self.board.placed[s]

    def worth(self, rooms: Rooms) -> Ints:
        """Return what the pods that wait could add to each room, by itself; uses the rooms up."""
        classes = self.board.device_class
        total: Ints = np.zeros(len(rooms.node), dtype=np.int64)
        perhaps = self._perhaps(rooms)
        for k in np.flatnonzero(perhaps.any(axis=1)).tolist():
            kind = self.kinds[k]
            if kind.left <= 0:
                continue
            rows = np.flatnonzero(perhaps[k])
            for r, amount in kind.shape.asks:  # others may have taken it
                rows = rows[rooms.free[r, rows] >= amount]
            if not kind.everywhere:
                rows = rows[kind.allowed[rooms.node[rows]]]
            admitted = self.board.neighbours.admits(kind.podsets[0])
            if admitted is not None:
                rows = rows[admitted[rooms.node[rows]]]
            for _ in range(kind.left):
                rows = _able(kind.shape, rooms, classes, rows)
                if not len(rows):
                    break
                _take(kind.shape, rooms, classes, rows)
                total[rows] += kind.worth
                for r, amount in kind.shape.asks:
                    rows = rows[rooms.free[r, rows] >= amount]
        return total

    def reserve(self, rooms: Rooms, shapes: Ints) -> Mask:
        """Take one pod of the given shape from each room; say where it fits."""
        classes = self.board.device_class
        fine = np.zeros(len(shapes), dtype=np.bool_)
        for k in np.unique(shapes).tolist():
            shape = self.board.distinct[k]
            rows = np.flatnonzero(shapes == k)
            rows = rows[self.board.admitting[k][rooms.node[rows]]]
            for r, amount in shape.asks:
                rows = rows[rooms.free[r, rows] >= amount]
            rows = _able(shape, rooms, classes, rows)
            if len(rows):
                _take(shape, rooms, classes, rows)
                fine[rows] = True
        return fine

    def _perhaps(self, rooms: Rooms) -> Mask:
        """Rooms that have what a pod of each kind asks for, and a device of some class that does.

        All kinds at once: of the few that remain it is asked more closely.
        """
        largest = rooms.devices.max(axis=2, initial=0)
        mask = np.ones((len(self.kinds), len(rooms.node)), dtype=np.bool_)
        for free, least in zip((*rooms.free, *largest), self._least.T, strict=True):
            if (least > _ANY).any():
                mask &= free[None, :] >= least[:, None]
        return mask

    def fill(self, n: int) -> int:
        """Place pods that wait on a node; return what they count."""
        total = 0
        for kind in self.kinds:
            while kind.left > 0 and kind.allowed[n] and self.place(kind, n):
                total += kind.worth
        return total

    def place(self, kind: WaitingKind, n: int) -> bool:
        """Place a pod that waits on a node if there is room; return whether there was."""
        state = self.board
        if any(state.free[r, n] < amount for r, amount in kind.shape.asks):
            return False
        devices = best_devices(state, kind.podsets[0], n)
        if devices is None or not state.neighbours.bear(kind.podsets[0], n):
            return False
        for s in kind.podsets:
            if self.waiting(s) > 0:
                if not state.admitted(s, 1):
                    return False
                self.board.add(s, Spot(n, devices), 1)
                return True
        return False


def _able(shape: PodShape, rooms: Rooms, classes: Ints, rows: Ints) -> Ints:
    """Those of some rooms whose devices take one pod."""
    for need in shape.needs:
        if not len(rows):
            break
        able = classes[rooms.node[rows]] == need.device_class
        for plane, amount in need.ask:
            able &= rooms.devices[plane, rows] >= amount
        rows = rows[able.sum(axis=1) >= need.count]
    return rows


def _take(shape: PodShape, rooms: Rooms, classes: Ints, rows: Ints) -> None:
    """Take what one pod asks for from rooms that have it: of the devices those with least left."""
    for r, amount in shape.asks:
        rooms.free[r, rows] -= amount
    for need in shape.needs:
        left = rooms.devices[[plane for plane, _ in need.ask]][:, rows].sum(axis=0)
        able = classes[rooms.node[rows]] == need.device_class
        for plane, amount in need.ask:
            able &= rooms.devices[plane, rows] >= amount
        left = np.where(able, left, UNLIMITED)
        for _ in range(need.count):
            d = left.argmin(axis=1)
            left[np.arange(len(rows)), d] = UNLIMITED
            for plane, amount in need.ask:
                rooms.devices[plane, rows, d] -= amount
