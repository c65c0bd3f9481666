"""Disjoint sets of numbers, merged where they are tied (union-find, Tarjan 1975)."""

from __future__ import annotations

from collections.abc import Iterable


class DisjointSets:
    """Numbers from 0 on, each in a set of its own until it is tied to another.

    networkx has the same, but every run would load it, which takes 0.1 s.
    """

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, x: int) -> int:
        """Return the number that stands for the set of ``x``."""
        parent = self._parent
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    def tie(self, x: int, y: int) -> None:
        """Merge the sets of two numbers."""
        self._parent[self.find(x)] = self.find(y)

    def tie_all(self, numbers: Iterable[int]) -> int | None:
        """Merge the sets of some numbers; return one of them, if there are any."""
        first: int | None = None
        for x in numbers:
            if first is None:
                first = x
            else:
                self.tie(x, first)
        return first
