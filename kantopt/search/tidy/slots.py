"""Bin emptying for slots: of a node so many pods leave as make one slot more, together.

Where no pod by itself makes one, each step of steepest descent gains nothing. They go where they
cost no slot, best fit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.relocation.movers import Movers
from kantopt.search.shapes import Ints, mask_of
from kantopt.search.state import UNLIMITED, State
from kantopt.search.tidy.targets import Fullest

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
        counts = mask_of(state.size, counted(state.instance, tier))
        self._counts = counts & (state.capacity[self._r] < UNLIMITED)
        self.marks: list[int] = []
        """Where the moves for each slot end."""

    @staticmethod
    def applies(tier: Tier) -> bool:
        """Whether a tier asks for slots of nodes; of devices one pod each is moved."""
        on_nodes = tier.resource is not None and tier.device_class is None
        return tier.metric is Metric.FRAGMENT_RATE and on_nodes

    def run(self, over: Callable[[], bool], wanted: int | None) -> None:
        """Make slots until there are so many more as ``wanted``, or none can be made."""
        arrived: set[int] = set()
        gained, before = 0, -1
        while gained > before and not over():  # who found no place may find one that others left
            before = gained
            leaving = self._leaving(arrived)
            for n in sorted(leaving, key=lambda n: (len(leaving[n]), n)):
                if over() or (wanted is not None and gained >= wanted):
                    return
                if n not in arrived and self._clear(n, leaving[n], arrived):
                    gained += 1

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

    def _clear(self, n: int, pods: list[_Pod], arrived: set[int]) -> bool:
        """Move pods off a node to where they cost no slot; if one finds no place, none moves."""
        state, mark, taken = self.state, self.state.mark(), set[int]()
        if any(state.spots[s].get(spot, 0) < pods.count((s, spot)) for s, spot in pods):
            return False
        for s, spot in pods:
            mask = (self._pieces() >= self._asks(s)) | ~self._counts
            mask[n] = False
            target = self._fullest.move(s, spot, mask)
            if target is None:
                state.undo(mark)
                return False
            taken.add(target)
        arrived |= taken
        self.marks.append(state.mark())
        return True
