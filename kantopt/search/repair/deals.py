"""Ejection chains of one or two pods: these leave a node, others take their room, all find places.

A pod that leaves goes where there is room; or it takes the place of another that then goes where
there is room, or that comes to the node which the first one left.
"""

from __future__ import annotations

import random

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.search.insertion.scores import Scores
from kantopt.search.repair.board import Board
from kantopt.search.repair.filling import Filling, Rooms
from kantopt.search.repair.fit import Fit
from kantopt.search.repair.outs import FREE, Out
from kantopt.search.shapes import Ints
from kantopt.search.state import best_devices, rooms
from kantopt.search.strategy import Strategy

TRIES = 4
"""Pods to displace, and shapes to swap with, that are tried for one pod."""


class Deals:
    """Carries changes out on the board, each whole or not at all."""

    def __init__(self, board: Board, filling: Filling, fit: Fit, rng: random.Random) -> None:
        self.board = board
        self.filling = filling
        self.fit = fit
        self.rng = rng
        self.scores = Scores(board, Strategy.BEST_FIT)

    def place_waiting(self) -> None:
        """Place what there is room for as it is."""
        for kind in self.filling.kinds:
            for s in kind.podsets:
                while kind.left and self.filling.waiting(s):
                    n = self._anywhere(s, set())
                    if n is None or not self.filling.place(kind, n):
                        break

    def strike(self, out: Out) -> tuple[int, set[int]] | None:
        """Carry out a change; return what it is worth and the nodes it touched.

        ``None``, and nothing changed, if a pod that left finds no place.
        """
        board = self.board
        mark = board.mark()
        n = int(board.node[out.rows[0]])
        lifted = [board.lift(row) for row in out.rows]
        touched = {n}
        # Pods that there is no room for elsewhere come first: they may swap with what n then holds.
        lifted.sort(key=self._size, reverse=True)
        for s in lifted:
            if not self._settle(s, n, touched):
                board.undo(mark)
                return None
        worth = self.filling.fill(n)
        worth += sum(self.filling.fill(m) for m in sorted(touched) if m != n)
        return worth, touched

    def _size(self, s: int) -> int:
        return int(self.board.shape[s].demand.sum())

    def _put(self, s: int, n: int) -> bool:
        """Place one pod on a node if there is room; return whether there was."""
        board = self.board
        shape = board.shape[s]
        if not board.allowed(s)[n] or not rooms(board, shape, 1, np.array([n]))[0]:
            return False
        if not board.neighbours.bear(s, n):
            return False
        for home, pods in board.spots_of(s).items():
            vacant = home.node == n and board.spots[s].get(home, 0) < pods
            if vacant and board.has_room(s, home):
                board.add(s, home, 1)
                return True
        devices = best_devices(board, s, n)
        if devices is None:
            return False
        board.add(s, Spot(n, devices), 1)
        return True

    def _anywhere(self, s: int, barred: set[int]) -> int | None:
        """Return the best node with room for one more pod outside some nodes."""
        nodes = self.fit.nodes_for(s)
        admitted = self.board.neighbours.admits(s)
        if admitted is not None:
            nodes = nodes[admitted[nodes]]
        if barred and len(nodes):
            nodes = nodes[~np.isin(nodes, list(barred))]
        if len(nodes) < 2:
            return int(nodes[0]) if len(nodes) else None
        return int(nodes[self.scores.score(self.board.shape[s], nodes).argmax()])

    def _settle(self, s: int, n: int, touched: set[int]) -> bool:
        """Find a place for a pod that has left node ``n``."""
        board = self.board
        m = self._anywhere(s, {n})
        if m is not None and self._put(s, m):
            touched.add(m)
            return True
        rows = self.fit.instead(s)
        rows = rows[board.node[rows] != n]
        return self._displace(s, rows, n, touched) or self._swap(s, rows, n, touched)

    def _displace(self, s: int, rows: Ints, n: int, touched: set[int]) -> bool:
        """Put a pod in the place of another, for which there is room elsewhere."""
        board = self.board
        rows = rows[self.fit.elsewhere(rows, n)]
        if not len(rows):
            return False
        order = self._cheap(rows)
        tried = set()
        for row in order.tolist():
            shape = int(board.row_shape[row])
            if shape in tried:
                continue
            tried.add(shape)
            if len(tried) > TRIES:
                break
            mark = board.mark()
            m = int(board.node[row])
            other = board.lift(row)
            if self._put(s, m):
                k = self._anywhere(other, {n, m})
                if k is not None and self._put(other, k):
                    touched |= {m, k}
                    return True
            board.undo(mark)
        return False

    def _cheap(self, rows: Ints) -> Ints:
        """Rows whose pods cost few moves and ask for little first."""
        board = self.board
        size = board.asked[:, rows].sum(axis=(0, 2))
        noise = np.array([self.rng.random() for _ in range(len(rows))])
        return rows[np.lexsort((noise, size, board.cost(rows)))]

    def _swap(self, s: int, rows: Ints, n: int, touched: set[int]) -> bool:
        """Put a pod in the place of another, which comes to the node that the first has left."""
        board = self.board
        if board.live[s]:
            return False
        shapes = np.unique(board.row_shape[rows])
        fine, gains = self._gains(shapes, n)
        if not len(fine):
            return False
        order = np.argsort(-gains, kind="stable")[:TRIES]
        for i in order.tolist():
            some = rows[board.row_shape[rows] == fine[i]]
            for row in self._cheap(some)[:2].tolist():
                mark = board.mark()
                m = int(board.node[row])
                other = board.lift(row)
                if not board.live[other] and self._put(s, m) and self._put(other, n):
                    touched.add(m)
                    return True
                board.undo(mark)
        return False

    def _gains(self, shapes: Ints, n: int) -> tuple[Ints, Ints]:
        """Shapes that fit on a node, and what pods that wait would add beside one of them."""
        state = self.board
        shapes = shapes[self.fit.on[shapes, n]]
        count = len(shapes)
        left = Rooms(
            np.full(count, n),
            np.repeat(state.free[:, [n]], count, axis=1),
            np.repeat(state.devices[:, [n]], count, axis=1),
        )
        fine = self.filling.reserve(left, shapes)
        gains = np.where(fine, self.filling.worth(left), 0)
        good = np.flatnonzero(gains > 0)
        return shapes[good], gains[good]


def rate(worth: int, moves: int) -> float:
    """Worth per move, where changes that are no moves count a little."""
    return worth / max(moves, FREE)
