"""Lazy greedy: the change that is worth most per move is carried out, again and again."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence

import numpy as np

from kantopt.search.repair.board import Board
from kantopt.search.repair.deals import Deals, rate
from kantopt.search.repair.filling import Filling
from kantopt.search.repair.fit import Fit
from kantopt.search.repair.outs import Out, Outs, Partners

_AT_ONCE = 512
"""Changes that are weighed anew in one go."""


class Greedy:
    """A pass over all nodes with a heap of what could leave each, looked at closely when on top."""

    def __init__(
        self,
        board: Board,
        fit: Fit,
        weights: Sequence[int],
        most: int,
        over: Callable[[], bool],
        rng: random.Random,
    ) -> None:
        self.board = board
        self.most = most
        self.over = over
        self.rng = rng
        self.partners = Partners(board, fit)
        self.filling = Filling(board, weights)
        self.outs = Outs(board, self.filling, fit, self.partners)
        self.deals = Deals(board, self.filling, fit, rng)

    def work(self, noise: float) -> list[int]:
        """Carry out changes until none is worth its moves; return the board's mark before each.

        With ``noise`` all looks better or worse than it is by up to half that share.
        """
        self.noise = noise
        self.marks: list[int] = []
        self.version = [0] * self.board.size
        self.heap: list[tuple[float, int, int, Out]] = []
        self.deals.place_waiting()
        self._push(list(range(self.board.size)))
        while self.heap and not self.over():
            self._next()
        return self.marks

    def _push(self, nodes: list[int]) -> None:
        for n in nodes:
            self.version[n] += 1
        self.partners.forget()
        for out in self.outs.of(nodes):
            value = out.rate
            if self.noise:
                value *= 1 + self.noise * (self.rng.random() - 0.5)
            self._add(value, out)

    def _add(self, value: float, out: Out) -> None:
        n = int(self.board.node[out.rows[0]])
        heapq.heappush(self.heap, (-value, self.rng.randrange(1 << 30), self.version[n], out))

    def _pop(self) -> Out | None:
        """Return the change on top that is as it was weighed; those that are not are weighed anew.

        ``None`` if others are on top now.
        """
        stale: dict[tuple[int, ...], float] = {}
        found = None
        while self.heap and len(stale) < _AT_ONCE:
            value, _, version, out = heapq.heappop(self.heap)
            n = int(self.board.node[out.rows[0]])
            if version != self.version[n]:
                continue
            if self.partners.hold(out, n):
                found = value, out
                break
            if out.rows not in stale:
                stale[out.rows] = -value
        if stale:
            outs = self.outs.again([Out(rows, 0.0) for rows in stale])
            for out in outs:
                if out.rate < stale[out.rows]:
                    self._add(out.rate, out)
            if found is not None:
                self._add(-found[0], found[1])
            return None
        return None if found is None else found[1]

    def _next(self) -> None:
        """Look closely at the change on top, and carry it out if it is still the best."""
        out = self._pop()
        board = self.board
        if out is None or board.moves + int(board.cost(np.array(out.rows)).sum()) > self.most:
            return
        mark, before = board.mark(), board.moves
        done = self.deals.strike(out)
        if done is None:
            return
        worth, touched = done
        real = rate(worth, board.moves - before)
        late = bool(self.heap) and real < -self.heap[0][0] * 0.999
        if worth <= 0 or not board.pace.kept() or late or not board.bears(mark):
            board.undo(mark)
            if late and worth > 0 and real < out.rate * 0.999:
                self._add(real, out)
            return
        self.marks.append(mark)
        self._push(sorted(touched))
