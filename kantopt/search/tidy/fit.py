"""Room for jobs that a goal names: nodes cleared one by one, as far as the job needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.schema.model import Rule
from kantopt.search.fill import room_for
from kantopt.search.gangs import Placer, Want
from kantopt.search.scores import Scores
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import UNLIMITED, State
from kantopt.search.strategy import Strategy
from kantopt.search.tidy.movers import Movers
from kantopt.search.tidy.targets import Fullest

MOST_REGIONS = 8
"""Domains of a required level that are tried for one job."""


class Fit:
    """Makes room for pending jobs by moving others; nobody is evicted.

    Where relocation gives up on a set of nodes if one pod on them finds no place, this leaves
    that node and goes on with the next.
    """

    def __init__(self, state: State) -> None:
        self.state, self.movers = state, Movers(state)
        self._placer = Placer(Scores(state, Strategy.BEST_FIT))
        self._fullest = Fullest(state, self.movers)
        self._pods_on: list[list[tuple[int, Spot]]] = [[] for _ in state.instance.nodes]
        """Where pods are that may move, by node."""
        for podset in state.instance.podsets:
            if self.movers.movable[podset.index]:
                for spot in sorted(state.spots[podset.index]):
                    if spot.node in state.instance.held:
                        continue
                    self._pods_on[spot.node].append((podset.index, spot))

    def make_room(self, j: int, over: Callable[[], bool]) -> bool:
        """Place a job whole; if that cannot be done, nothing has changed."""
        wants = self._placer.wants(j)
        if not self._placer.is_gang(j):
            wants = [Want(want.s, want.role, want.most, want.most) for want in wants]
        if not wants or self._place(j, None):
            return bool(wants)
        for region in self._regions(j, wants):
            mark = self.state.mark()
            if self._clear(j, wants, region, over) and self._place(j, region):
                return True
            self.state.undo(mark)
            if over():
                return False
        return False

    def _place(self, j: int, region: Mask | None) -> bool:
        mark = self.state.mark()
        if self._placer.place(j, within=region):
            return True
        self.state.undo(mark)  # of a job that is no gang some pods may have found a place
        return False

    def _regions(self, j: int, wants: list[Want]) -> Iterator[Mask]:
        """Domains of the required level, those with most room first; or all nodes."""
        placer = self._placer
        required = [
            need.required
            for need in placer.needs.get(j, ())
            if need.required is not None and self.state.instance.on(Rule.TOPOLOGY)
        ]
        if not required:
            yield np.ones(self.state.size, dtype=np.bool_)
            return
        level = min(required)
        room = placer.domains.totals(level, room_for(self.state, wants[0].s, wants[0].least))
        for d in np.argsort(-room, kind="stable").tolist()[:MOST_REGIONS]:
            yield placer.domains.mask(level, d)

    def _clear(self, j: int, wants: list[Want], region: Mask, over: Callable[[], bool]) -> bool:
        """Move pods out of the way until there is room for all that the job cannot do without."""
        missing = self._placer.missing(j)
        reserved: Mask = np.zeros(self.state.size, dtype=np.bool_)
        for want in sorted(wants, key=lambda want: -int(self.state.shape[want.s].demand.sum())):
            need = min(want.most, max(want.least, missing))
            missing -= min(missing, need)
            room = room_for(self.state, want.s, need, region & ~reserved)
            left = need - int(room.sum())
            reserved |= room > 0
            for n in self._order(want.s, region & ~reserved):
                if left <= 0 or over():
                    break
                gained = self._free_one(want.s, n, reserved, need)
                if gained:
                    reserved[n] = True
                    left -= gained
            if left > 0:
                return False
        return True

    def _order(self, s: int, region: Mask) -> list[int]:
        """Nodes that a pod may be on, those first of which fewest and smallest pods must leave."""
        state = self.state
        ask = state.shape[s].demand
        nodes = np.flatnonzero(region & state.allowed(s)).tolist()
        ranked = []
        for n in nodes:
            limited = state.capacity[:, n] < UNLIMITED
            short = np.where(limited, np.maximum(ask - state.left[:, n], 0), 0)
            pods, moved = 0, 0
            for other, spot in self._leavers(n):
                if not short.any():
                    break
                k = state.spots[other].get(spot, 0)
                shape = state.shape[other].demand
                while k and short.any():
                    short = np.maximum(short - shape, 0)
                    pods, moved, k = pods + 1, moved + int(shape @ state.gpu_weight), k - 1
            if not short.any():
                ranked.append((pods, moved, n))
        return [n for _, _, n in sorted(ranked)]

    def _leavers(self, n: int) -> list[tuple[int, Spot]]:
        """Pods on a node, those that hold most GPUs and most of all else first."""
        state = self.state

        def size(pod: tuple[int, Spot]) -> tuple[int, int]:
            demand: Ints = state.shape[pod[0]].demand
            return -int(demand @ state.gpu_weight), -int(demand.sum())

        return sorted(self._pods_on[n], key=size)

    def _free_one(self, s: int, n: int, reserved: Mask, most: int) -> int:
        """Move pods off a node until a pod of ``s`` fits; return how many then do."""
        mark = self.state.mark()
        mask = ~reserved
        mask[n] = False
        only = np.zeros(self.state.size, dtype=np.bool_)
        only[n] = True
        for other, spot in self._leavers(n):
            while self.state.spots[other].get(spot, 0):
                room = int(room_for(self.state, s, most, only)[n])
                if room:
                    return room
                if self._fullest.move(other, spot, mask) is None:
                    break
        room = int(room_for(self.state, s, most, only)[n])
        if not room:
            self.state.undo(mark)
        return room
