"""Weighted dominant resource fairness (Ghodsi et al., *Dominant Resource Fairness*, NSDI 2011).

Progressive filling: whose dominant share is the smallest for its weight is next, again and again.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from fractions import Fraction

from kantopt.schema.policy import Queueing
from kantopt.simulate.floor import Floor
from kantopt.simulate.owners import Owners


class FairShare:
    """Yields who is next while shares change; within an owner and among equals by arrival."""

    def __init__(self, queueing: Queueing) -> None:
        self._queueing = queueing

    def __call__(self, floor: Floor) -> Iterator[int]:
        """Yield those who wait; whoever has started meanwhile counts at once."""
        owners = Owners(floor, self._queueing)
        used = _used(floor, owners)
        running = len(floor.running)
        queues: dict[str, deque[tuple[int, int]]] = {}
        for place, j in enumerate(floor.waiting):
            queues.setdefault(owners.of(j), deque()).append((place, j))

        def entry(owner: str) -> tuple[Fraction, int, str]:
            share = owners.share(used[owner]) if owner in used else Fraction(0)
            return share / owners.weight(owner), queues[owner][0][0], owner

        heap = [entry(owner) for owner in queues]
        heapq.heapify(heap)
        while heap:
            _, _, owner = heapq.heappop(heap)
            _, j = queues[owner].popleft()
            yield j
            if j in floor.running:
                _add(used, owner, owners.placed(j))
                running += 1
            if queues[owner]:
                heapq.heappush(heap, entry(owner))
            if running != len(floor.running):  # others were evicted: their owners have less
                used, running = _used(floor, owners), len(floor.running)
                heap = [entry(each) for _, _, each in heap]
                heapq.heapify(heap)


def _used(floor: Floor, owners: Owners) -> dict[str, list[int]]:
    used: dict[str, list[int]] = {}
    for j in floor.running:
        _add(used, owners.of(j), owners.placed(j))
    return used


def _add(used: dict[str, list[int]], owner: str, more: list[int]) -> None:
    before = used.get(owner, [0] * len(more))
    used[owner] = [a + b for a, b in zip(before, more, strict=True)]
