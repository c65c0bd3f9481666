"""Where a pod of each shape fits: on which nodes, and in whose place."""

from __future__ import annotations

import numpy as np

from kantopt.search.insertion.holding import Holding
from kantopt.search.repair.board import Board
from kantopt.search.shapes import Ints, Mask

_AT_ONCE = 512
"""Nodes that are looked at in one go."""


class Fit:
    """Kept up to date node by node, for all shapes of pods at once.

    Attributes
    ----------
    on
        Shapes x nodes: whether the node admits one more pod and has room for it.
    somewhere
        Nodes on which one more pod of each shape fits.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        state, shapes = board, board.distinct
        self._holding = Holding(shapes, len(state.devices), len(state.instance.resources))
        self._admitted: Mask = np.array(board.admitting).reshape(len(shapes), state.size)
        self.on = np.zeros((len(shapes), state.size), dtype=np.bool_)
        self._seen = len(state.touched)
        self._room: Ints = np.zeros((len(state.instance.resources), 0), dtype=np.int64)
        self._devices: Ints = np.zeros((0, 0, 0), dtype=np.int64)
        for at in range(0, state.size, _AT_ONCE):
            self._renew(np.arange(at, min(at + _AT_ONCE, state.size)))
        self.somewhere: Ints = self.on.sum(axis=1)

    def refresh(self) -> None:
        """Take note of the nodes that have changed."""
        touched = self.board.touched
        if self._seen == len(touched):
            return
        nodes = np.array(sorted(set(touched[self._seen :])), dtype=np.int64)
        self._seen = len(touched)
        self.somewhere -= self.on[:, nodes].sum(axis=1)
        self._renew(nodes)
        self.somewhere += self.on[:, nodes].sum(axis=1)

    def _renew(self, nodes: Ints) -> None:
        board = state = self.board
        # Where more is taken than there is those still fit who ask for nothing of it.
        free, devices = np.maximum(state.free[:, nodes], 0), state.devices[:, nodes]
        holds = self._holding.of(free, devices, state.device_class[nodes])
        self.on[:, nodes] = holds.T & self._admitted[:, nodes]
        if self._room.shape[1] != len(board.node):
            rows = np.arange(board.rows)
            self._room = np.zeros((len(free), len(board.node)), dtype=np.int64)
            self._devices = np.zeros(board.asked.shape, dtype=np.int64)
        else:
            rows = np.array([row for n in nodes.tolist() for row in board.rows_on[n]], dtype=int)
        self._room[:, rows] = state.free[:, board.node[rows]] + board.request[:, rows]
        self._devices[:, rows] = state.devices[:, board.node[rows]] + board.asked[:, rows]

    def nodes_for(self, s: int) -> Ints:
        """Nodes that admit and hold one more pod of a pod set."""
        self.refresh()
        board = self.board
        return np.flatnonzero(self.on[board.distinct_of[s]] & board.allowed(s))

    def instead(self, s: int) -> Ints:
        """Rows of pods whose node would hold a pod of a pod set, were one of theirs gone.

        Rows of pods of the same shape are left out.
        """
        self.refresh()
        board = state = self.board
        shape = state.shape[s]
        mask = board.loose(np.arange(board.rows))
        mask &= board.row_shape[: board.rows] != board.distinct_of[s]
        for r, amount in shape.asks:
            mask &= self._room[r, : board.rows] >= amount
        rows = np.flatnonzero(mask)
        nodes = board.node[rows]
        fine = state.allowed(s)[nodes]
        rows, nodes = rows[fine], nodes[fine]
        for need in shape.needs:
            able = state.device_class[nodes] == need.device_class
            for plane, amount in need.ask:
                able &= self._devices[plane, rows] >= amount
            fine = able.sum(axis=1) >= need.count
            rows, nodes = rows[fine], nodes[fine]
        return rows

    def elsewhere(self, rows: Ints, n: int | None = None) -> Mask:
        """Whether pods of some rows fit somewhere but on their own node and on node ``n``."""
        shapes = self.board.row_shape[rows]
        nodes = self.somewhere[shapes] - self.on[shapes, self.board.node[rows]]
        if n is not None:
            nodes -= self.on[shapes, n]
        return np.asarray(nodes > 0, dtype=np.bool_)
