"""Which pods to take off a node: one or two at a time, and what their going would be worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.search.repair.board import Board
from kantopt.search.repair.filling import Filling, Rooms
from kantopt.search.repair.fit import Fit
from kantopt.search.shapes import Ints, Mask

_MOST_FOR_PAIRS = 32
"""Pods on a node up to which two at a time may go."""
_AT_ONCE = 20_000
"""Candidates that are weighed in one go."""
FREE = 0.02
"""What a change that is no move counts against a move."""


@dataclass(frozen=True, slots=True)
class Out:
    """Rows of one node of which one pod each goes."""

    rows: tuple[int, ...]
    rate: float
    """What pods that wait would then add per move, probably."""
    displacing: int | None = None
    """Shape of the pod that has to displace another for that, or to swap places with one."""
    partner: int | None = None
    """Shape of that one where they swap."""


class Partners:
    """For each shape: what its pods displace where there is no room for them."""

    def __init__(self, board: Board, fit: Fit) -> None:
        self.board = board
        self.fit = fit
        self._sample = [-1] * len(board.distinct)
        """A restless pod set of each shape."""
        for s, restless in enumerate(board.restless):
            if restless:
                self._sample[board.distinct_of[s]] = s
        size = np.array([[*shape.request, *shape.demand] for shape in board.distinct])
        below: Mask = np.all(size[:, None, :] <= size[None, :, :], axis=2)
        self._smaller: Mask = below & ~below.T
        self._displaced: dict[int, Ints] = {}
        self._shapes: dict[int, Ints] = {}

    def forget(self) -> None:
        """Look anew: pods have moved."""
        self._displaced.clear()
        self._shapes.clear()

    def displaced(self, shape: int) -> Ints:
        """Rows whose place a pod of a shape can take, and that there is room for elsewhere."""
        if shape not in self._displaced:
            rows = self.fit.instead(self._sample[shape])
            self._displaced[shape] = rows[self.fit.elsewhere(rows)]
        return self._displaced[shape]

    def displaces(self, shape: int, n: int) -> bool:
        """Whether a pod of a shape that leaves a node can displace one on another."""
        rows = self.displaced(shape)
        rows = rows[self.board.node[rows] != n]
        return bool(self.fit.elsewhere(rows, n).any())

    def swappable(self, shape: int) -> Ints:
        """Shapes whose pods a pod of a shape can swap places with."""
        if shape not in self._shapes:
            self._shapes[shape] = np.unique(
                self.board.row_shape[self.fit.instead(self._sample[shape])]
            )
        return self._shapes[shape]

    def least(self, shape: int) -> list[int]:
        """Those that one can swap places with and that ask for least."""
        shapes = self.swappable(shape)
        bigger = self._smaller[np.ix_(shapes, shapes)].any(axis=0)
        return [int(k) for k in shapes[~bigger]]

    def hold(self, out: Out, n: int) -> bool:
        """Whether what a change counts on is still so."""
        if out.displacing is None:
            return True
        if out.partner is None:
            return self.displaces(out.displacing, n)
        return out.partner in self.swappable(out.displacing)


class Outs:
    """Weighs what could leave some nodes."""

    def __init__(self, board: Board, filling: Filling, fit: Fit, partners: Partners) -> None:
        self.board = board
        self.filling = filling
        self.fit = fit
        self.partners = partners

    def of(self, nodes: list[int]) -> list[Out]:
        """Return what is worth leaving some nodes."""
        board = self.board
        self.fit.refresh()
        first: list[int] = []
        second: list[int] = []
        for n in nodes:
            there = np.array(board.rows_on[n], dtype=np.int64)
            rows = there[board.loose(there)].tolist()
            for k, row in enumerate(rows):
                first.append(row)
                second.append(-1)
                if len(rows) > _MOST_FOR_PAIRS:
                    continue
                first += [row] * (len(rows) - k - 1)
                second += rows[k + 1 :]
                if board.count[row] > 1:
                    first.append(row)
                    second.append(row)
        return self._all(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64))

    def again(self, outs: Sequence[Out]) -> list[Out]:
        """Weigh changes anew."""
        rows = np.array([(*out.rows, -1)[:2] for out in outs], dtype=np.int64)
        return self._all(rows[:, 0], rows[:, 1])

    def _all(self, a: Ints, b: Ints) -> list[Out]:
        fine = self.fit.somewhere > 0
        board = self.board
        far = ~fine[board.row_shape[a]]
        farther = (b >= 0) & ~fine[board.row_shape[b]]
        found: list[Out] = []
        keep = ~(far & farther)
        a, b, far = a[keep], b[keep], (far | farther)[keep]
        for at in range(0, len(a), _AT_ONCE):
            some = slice(at, at + _AT_ONCE)
            found += self._weigh(a[some], b[some], far[some])
        return found

    def _weigh(self, a: Ints, b: Ints, far: Mask) -> list[Out]:
        board = self.board
        worth = self.filling.worth(self._without(a, b))
        price = np.maximum(board.cost(a), FREE)
        price += np.where(b >= 0, np.maximum(board.cost(b), FREE), 0.0)
        good = worth > 0
        found = [
            Out(_rows(a[i], b[i]), worth[i] / price[i])
            for i in np.flatnonzero(good & ~far).tolist()
        ]
        swaps: list[tuple[int, int]] = []
        for i in np.flatnonzero(good & far).tolist():
            one = int(a[i] if not self.fit.somewhere[board.row_shape[a[i]]] else b[i])
            shape = int(board.row_shape[one])
            if self.partners.displaces(shape, int(board.node[one])):
                found.append(Out(_rows(a[i], b[i]), worth[i] / (price[i] + 1), shape))
            if b[i] < 0:
                swaps += [(i, least) for least in self.partners.least(shape)]
        return found + self._swaps(a, price, swaps)

    def _without(self, a: Ints, b: Ints) -> Rooms:
        """What is free once the pods are gone."""
        board = state = self.board
        nodes = board.node[a]
        free = state.free[:, nodes] + board.request[:, a]
        devices = state.devices[:, nodes] + board.asked[:, a]
        two = np.flatnonzero(b >= 0)
        free[:, two] += board.request[:, b[two]]
        devices[:, two] += board.asked[:, b[two]]
        return Rooms(nodes, free, devices)

    def _swaps(self, a: Ints, price: Ints, swaps: list[tuple[int, int]]) -> list[Out]:
        """Weigh the pods that leave for others that come in their stead."""
        if not swaps:
            return []
        outs, shapes = np.array(swaps, dtype=np.int64).T
        board, rows = self.board, a[outs]
        rooms = self._without(rows, np.full(len(rows), -1))
        fine = self.filling.reserve(rooms, shapes)
        worth = np.where(fine, self.filling.worth(rooms), 0)
        best: dict[int, tuple[int, int]] = {}
        for i, value, shape in zip(outs.tolist(), worth.tolist(), shapes.tolist(), strict=True):
            if value > best.get(i, (0, 0))[0]:
                best[i] = value, shape
        return [
            Out((int(a[i]),), value / (float(price[i]) + 1), int(board.row_shape[a[i]]), shape)
            for i, (value, shape) in best.items()
        ]


def _rows(a: int, b: int) -> tuple[int, ...]:
    return (int(a),) if b < 0 else (int(a), int(b))
