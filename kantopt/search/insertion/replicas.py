"""kube-scheduler's soft spreading of replicas over nodes."""

from __future__ import annotations

import heapq
import math

import numpy as np

from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import State

_WEIGHT = 2


def replicas_on(state: State, s: int) -> dict[int, int]:
    """Pods of the same role on each node."""
    podset = state.instance.podsets[s]
    found: dict[int, int] = {}
    for other in state.instance.jobs[podset.job].roles[podset.role].podsets:
        for spot, pods in state.spots[other].items():
            found[spot.node] = found.get(spot.node, 0) + pods
    return found


def _raw(replicas: int, feasible: int) -> int:
    return round(replicas * math.log(feasible + 2) + 2)


def spread_term(counts: Ints, mask: Mask) -> Ints:
    """Weighted score of PodTopologySpread's system default for nodes with that many replicas.

    Of a node with ``c`` replicas among ``F`` feasible nodes: raw = round(c ln(F + 2) + 2), then
    100 (max + min - raw) / max over the feasible nodes, weight 2.
    """
    feasible = int(mask.sum())
    values, where = np.unique(counts, return_inverse=True)
    present = np.unique(counts[mask])
    low, high = _raw(int(present[0]), feasible), _raw(int(present[-1]), feasible)
    terms = [_WEIGHT * (100 * (high + low - _raw(int(c), feasible)) // high) for c in values]
    return np.asarray(np.array(terms, dtype=np.int64)[where], dtype=np.int64)


class ReplicaQueue:
    """Feasible nodes in classes of equal replica count, the best of each class on top.

    Choosing one pod at a time costs a look at each class instead of at each node.
    """

    def __init__(self) -> None:
        self._classes: dict[int, list[tuple[int, int]]] = {}
        self._feasible = 0

    def push(self, replicas: int, score: int, n: int) -> None:
        """Add a feasible node with its score, spreading left out."""
        heapq.heappush(self._classes.setdefault(replicas, []), (-score, n))
        self._feasible += 1

    def pop(self) -> tuple[int, int] | None:
        """Take the best node out; return it with its replicas, or ``None`` if there is none."""
        if not self._classes:
            return None
        low = _raw(min(self._classes), self._feasible)
        high = _raw(max(self._classes), self._feasible)
        best = max(
            (
                _WEIGHT * (100 * (high + low - _raw(c, self._feasible)) // high) - heap[0][0],
                -heap[0][1],
                c,
            )
            for c, heap in self._classes.items()
        )
        replicas = best[2]
        heap = self._classes[replicas]
        _, n = heapq.heappop(heap)
        if not heap:
            del self._classes[replicas]
        self._feasible -= 1
        return n, replicas
