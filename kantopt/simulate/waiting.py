"""Who waits: in the order of the queue, and by what is alike."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

Rank = tuple[int, ...]
_E = TypeVar("_E", tuple[Rank, int], tuple[int, int])


class Waiting:
    """Jobs that wait, the least rank first.

    Parameters
    ----------
    rank
        Place of a job in the queue; the same as long as it waits.
    alike
        What decides whether a job fits.
    arrival
        When a job came.

    Attributes
    ----------
    version
        Grows with every change.
    """

    def __init__(
        self,
        rank: Callable[[int], Rank],
        alike: Callable[[int], Hashable],
        arrival: Callable[[int], int],
    ) -> None:
        self._rank, self._alike, self._arrival = rank, alike, arrival
        self.version = 0
        self._order: list[tuple[Rank, int]] = []
        self._groups: dict[Hashable, list[tuple[Rank, int]]] = {}
        self._arrivals: list[tuple[int, int]] = []

    def add(self, j: int) -> None:
        """Let a job wait."""
        entry = (self._rank(j), j)
        insort(self._order, entry)
        insort(self._groups.setdefault(self._alike(j), []), entry)
        insort(self._arrivals, (self._arrival(j), j))
        self.version += 1

    def remove(self, j: int) -> None:
        """Let a job wait no longer."""
        entry, key = (self._rank(j), j), self._alike(j)
        _drop(self._order, entry)
        _drop(self._groups[key], entry)
        if not self._groups[key]:
            del self._groups[key]
        _drop(self._arrivals, (self._arrival(j), j))
        self.version += 1

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, j: int) -> bool:
        entry = (self._rank(j), j)
        i = bisect_left(self._order, entry)
        return i < len(self._order) and self._order[i] == entry

    def __iter__(self) -> Iterator[int]:
        """Yield the jobs in order; nobody may come or go meanwhile."""
        return (j for _, j in self._order)

    def passed(self, j: int) -> bool:
        """Whether one that waits came before a job, which waits as well."""
        return self._arrivals[0] < (self._arrival(j), j)

    def hopeful(self, hopeless: Callable[[int], bool], first: int | None = None) -> Iterator[int]:
        """Yield in order all but those who are like one that is hopeless.

        Who was yielded may leave, and what is hopeless may grow meanwhile. So of a long queue only
        those are looked at of whom something is to be learned.

        Parameters
        ----------
        hopeless
            Whether neither a job nor any like it need be looked at.
        first
            Begin with this one; ``None``: with all.
        """
        start = None if first is None else (self._rank(first), first)
        heads = []
        for n, (key, group) in enumerate(self._groups.items()):
            i = 0 if start is None else bisect_left(group, start)
            if i < len(group):
                heads.append((group[i], n, i, key))
        heapq.heapify(heads)
        while heads:
            entry, n, i, key = heapq.heappop(heads)
            if hopeless(entry[1]):
                continue
            yield entry[1]
            group = self._groups.get(key, [])
            if i < len(group) and group[i] == entry:
                i += 1
            if i < len(group):
                heapq.heappush(heads, (group[i], n, i, key))


def _drop(entries: list[_E], entry: _E) -> None:
    i = bisect_left(entries, entry)
    assert entries[i] == entry, "it waits"
    del entries[i]
