"""The largest flow through a network, which is its smallest cut (Dinic 1970)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

Arc = tuple[int, int, int]
"""From, to, and the most that flows."""


def largest_flow(nodes: int, arcs: Sequence[Arc], source: int, sink: int) -> int:
    """Return the most that flows from the source to the sink, in whole numbers.

    Written here since a library for graphs takes longer to load than most plans take to order.

    Parameters
    ----------
    nodes
        How many there are; they are numbered from 0.
    arcs
        None of a node to itself.
    source, sink
        Two different nodes.
    """
    network = _Network(nodes, arcs)
    flow = 0
    while network.measure(source, sink):
        while pushed := network.push(source, sink):
            flow += pushed
    return flow


class _Network:
    """What is left of each arc, and how far nodes are from the source.

    Arc ``a ^ 1`` is the way back of arc ``a``: what has been sent may be taken back.
    """

    def __init__(self, nodes: int, arcs: Sequence[Arc]) -> None:
        self._heads: list[int] = []
        self._left: list[int] = []
        self._out: list[list[int]] = [[] for _ in range(nodes)]
        for tail, head, most in arcs:
            self._out[tail].append(len(self._heads))
            self._out[head].append(len(self._heads) + 1)
            self._heads += (head, tail)
            self._left += (most, 0)
        self._levels = [0] * nodes
        self._next = [0] * nodes

    def measure(self, source: int, sink: int) -> bool:
        """Count the arcs from the source to each node; whether the sink can be reached."""
        levels = self._levels = [-1] * len(self._out)
        self._next = [0] * len(self._out)
        levels[source] = 0
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for arc in self._out[node]:
                head = self._heads[arc]
                if self._left[arc] and levels[head] < 0:
                    levels[head] = levels[node] + 1
                    waiting.append(head)
        return levels[sink] >= 0

    def push(self, source: int, sink: int) -> int:
        """Send as much as goes along one shortest way; 0 if there is none left."""
        way: list[int] = []
        node = source
        while node != sink:
            arc = self._onward(node)
            if arc is not None:
                way.append(arc)
                node = self._heads[arc]
            elif way:
                node = self._heads[way.pop() ^ 1]
                self._next[node] += 1
            else:
                return 0
        amount = min(self._left[arc] for arc in way)
        for arc in way:
            self._left[arc] -= amount
            self._left[arc ^ 1] += amount
        return amount

    def _onward(self, node: int) -> int | None:
        """Return the next arc of a node that leads away from the source and is not full."""
        out, level = self._out[node], self._levels[node] + 1
        while self._next[node] < len(out):
            arc = out[self._next[node]]
            if self._left[arc] and self._levels[self._heads[arc]] == level:
                return arc
            self._next[node] += 1
        return None
