"""Bin emptying for slots: of a node so many pods leave as make one slot more, together.

Where no pod by itself makes one, each step of steepest descent gains nothing. They go where they
cost no slot, best fit; at last also where others leave these first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.relocation.ejection import Ejection
from kantopt.search.relocation.movers import Movers
from kantopt.search.relocation.targets import Fullest
from kantopt.search.shapes import Ints, Mask, mask_of
from kantopt.search.state import UNLIMITED, State

_Pod = tuple[int, Spot]


class Slots:
    """Makes slots on one node after the other, those first that fewest pods have to leave.

    Parameters
    ----------
    state
        Where pods are; changed.
    tier
        A fragment rate of a resource of nodes.
    """

    def __init__(self, state: State, tier: Tier) -> None:
        assert tier.resource is not None
        self.state, self._r, self._size = state, tier.resource, tier.size
        self._movers = Movers(state)
        self._fullest = Fullest(state, self._movers)
        self._ejection = Ejection(state, self._movers, self._fullest)
        counts = mask_of(state.size, counted(state.instance, tier))
        self._counts = counts & (state.capacity[self._r] < UNLIMITED)
        self.marks: list[int] = []
        """Where the moves for each slot end."""
        self._eject = False

    @staticmethod
    def applies(tier: Tier) -> bool:
        """Whether a tier asks for slots of nodes; of devices one pod each is moved."""
        on_nodes = tier.resource is not None and tier.device_class is None
        return tier.metric is Metric.FRAGMENT_RATE and on_nodes

    def run(self, over: Callable[[], bool], wanted: int, *, eject: bool = False) -> None:
        """Make slots until there are so many more as ``wanted``, or none can be made.

        With ``eject`` others make way on nodes that take a pod only then.
        """
        arrived = {spot.node for _, spot, pods in self.state.journal if pods > 0}
        self.marks, self._eject, before = [], eject, -1
        # Who found no place may find one that others have left.
        while len(self.marks) > before and not over():
            before = len(self.marks)
            hopeless: set[Hashable] = set()
            leaving = self._leaving(arrived)
            for n in sorted(leaving, key=lambda n: (len(leaving[n]), n)):
                if over() or len(self.marks) >= wanted:
                    return
                if n not in arrived:
                    self._clear(n, leaving[n], arrived, hopeless)

    def _pieces(self) -> Ints:
        """What of each node is free beyond whole slots."""
        return np.asarray(np.maximum(self.state.free[self._r], 0) % self._size, dtype=np.int64)

    def _asks(self, s: int) -> int:
        return int(self.state.shape[s].request[self._r])

    def _leaving(self, arrived: set[int]) -> dict[int, list[_Pod]]:
        """Return the fewest pods of each node that have to leave for one slot more."""
        state = self.state
        able: dict[int, list[_Pod]] = {}
        for podset in state.instance.podsets:
            s = podset.index
            if not (podset.running and self._movers.movable[s] and self._asks(s)):
                continue
            for spot, pods in sorted(state.spots[s].items()):
                n = spot.node
                if self._counts[n] and n not in arrived and n not in state.instance.held:
                    able.setdefault(n, []).extend([(s, spot)] * pods)
        pieces, found = self._pieces(), dict[int, list[_Pod]]()
        for n, pods_here in able.items():
            chosen = self._fewest(pods_here, self._size - int(pieces[n]))
            left = self._movers.left()
            if chosen and (left is None or len(chosen) <= left):
                found[n] = chosen
        return found

    def _fewest(self, pods: list[_Pod], lack: int) -> list[_Pod]:
        """Return as few pods as ask for so much together, the last one as small as will do."""
        pods = sorted(pods, key=lambda pod: (-self._asks(pod[0]), pod))
        chosen: list[_Pod] = []
        while lack > 0 and pods:
            enough = [i for i, (s, _) in enumerate(pods) if self._asks(s) >= lack]
            pod = pods.pop(enough[-1] if enough else 0)
            chosen.append(pod)
            lack -= self._asks(pod[0])
        return [] if lack > 0 else chosen

    def _clear(self, n: int, pods: list[_Pod], arrived: set[int], hopeless: set[Hashable]) -> None:
        """Move pods off a node to where they cost no slot; if one finds no place, none moves.

        Nor are others tried that are like one who found none by itself, ``hopeless``.
        """
        state, mark = self.state, self.state.mark()
        for s, spot in pods:
            kind, there = self._kind(s), state.spots[s].get(spot)
            if not there or kind in hopeless or not self._move(s, spot, n):
                alone = state.mark() == mark and state.pace.used_up(s, spot.node, n) is None
                if self._eject and there and alone:
                    hopeless.add(kind)
                state.undo(mark)
                return
        arrived |= {spot.node for _, spot, _ in state.journal[mark:]} - {n}
        self.marks.append(state.mark())

    def _kind(self, s: int) -> Hashable:
        """What decides where a pod finds a place, but for the node that it leaves."""
        if not self._movers.untied(s):
            return s
        return self.state.shape[s].index, self.state.instance.podsets[s].allowed

    def _move(self, s: int, spot: Spot, n: int) -> bool:
        """Move a pod off a node, also to where others leave for it."""

        def open_to(s: int) -> Mask:
            mask = self._costs_none(s)
            mask[n] = False
            return mask

        mask = open_to(s)
        if self._fullest.move(s, spot, mask) is not None:
            return True
        return self._eject and self._ejection.move(s, spot, mask, open_to)

    def _costs_none(self, s: int) -> Mask:
        """Nodes where a pod that fits takes no slot: beside whole ones, or as there is none."""
        none = self.state.free[self._r] < self._size
        return np.asarray((self._pieces() >= self._asks(s)) | none | ~self._counts)
