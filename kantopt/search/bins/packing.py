"""Can all these pods be on these nodes? Content by content, those that hold the largest pod first.

What may stay free in all is known beforehand: so much of each node, at most, may stay free as well,
and the less that is, the fewer contents there are to choose from (bin completion: Martello and
Toth 1990; with several resources Fukunaga and Korf 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.search.bins.contents import Counts, Work, by_size, nearly_full
from kantopt.search.shapes import Ints

_STEP = 400
"""Work of a step beside what is done row by row."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A node of a class and its pods of each kind."""

    node_class: int
    pods: tuple[int, ...]


def pack(
    asks: Ints, counts: Ints, rooms: Ints, nodes: Sequence[int], work: Work
) -> list[Filled] | None:
    """Put all pods on nodes.

    Parameters
    ----------
    asks, counts
        What pods of each kind ask for (rows: kinds, columns: resources), and their number.
    rooms, nodes
        What a node of each class has (rows: classes), and their number.

    Returns
    -------
    list[Filled] or None
        Contents of nodes, which hold all the pods; ``None`` if there is no way.

    Raises
    ------
    SpentError
        If it takes too much work to say.
    """
    order = by_size(asks, rooms.max(axis=0).tolist())
    found = _Packing(asks[order], rooms, work).fill(counts[order], tuple(nodes), None)
    if found is None:
        return None
    back = np.argsort(order)
    return [Filled(c, tuple(pods[back].tolist())) for c, pods in found]


Contents = tuple[Counts, Ints]
"""Contents and their loads."""


_NOTHING: Contents = np.zeros((0, 1), np.int8), np.zeros((0, 1), np.int64)


class _Packing:
    def __init__(self, asks: Ints, rooms: Ints, work: Work) -> None:
        self._asks, self._rooms, self._work = asks, rooms, work
        self._failed: set[tuple[tuple[int, ...], bytes]] = set()

    def fill(
        self, counts: Ints, nodes: tuple[int, ...], known: list[Contents] | None
    ) -> list[tuple[int, Ints]] | None:
        """Fill nodes; ``known`` are contents of each class among which all that is of use is."""
        self._work.take(_STEP)
        load = counts @ self._asks
        one = next((c for c, n in enumerate(nodes) if n and (load <= self._rooms[c]).all()), None)
        if one is not None:
            return [(one, counts)]
        free = np.asarray(nodes) @ self._rooms - load
        if sum(nodes) < 2 or (free < 0).any():
            return None
        state = nodes, counts.tobytes()
        if state in self._failed:
            return None
        self._failed.add(state)
        largest = int(np.flatnonzero(counts)[0])
        if known is None and self._hopeless(counts, nodes, free, largest):
            return None
        choices = self._choices(counts, nodes, free, known)
        for c, (contents, loads) in enumerate(choices):
            if not len(contents):
                continue
            rest = tuple(n - (k == c) for k, n in enumerate(nodes))
            with_it = np.flatnonzero(contents[:, largest])
            if sum(rest) == 1:
                with_it = with_it[(load - loads[with_it] <= self._rooms[rest.index(1)]).all(axis=1)]
            left = ((self._rooms[c] - loads[with_it]) / (free + 1)).sum(axis=1)
            for i in with_it[np.argsort(left, kind="stable")]:
                more = self.fill(counts - contents[i], rest, choices)
                if more is not None:
                    return [(c, contents[i].astype(np.int64)), *more]
        return None

    def _choices(
        self, counts: Ints, nodes: tuple[int, ...], free: Ints, known: list[Contents] | None
    ) -> list[Contents]:
        """Contents that leave little enough, of pods that are still to be placed."""
        found = []
        for c, n in enumerate(nodes):
            if not n:
                found.append(_NOTHING)
                continue
            if known is None:
                found.append(nearly_full(self._asks, counts, self._rooms[c], free, self._work))
                continue
            contents, loads = known[c]
            self._work.take(len(loads))
            near = (self._rooms[c] - loads <= free).all(axis=1)
            contents, loads = contents[near], loads[near]
            there = (contents <= counts).all(axis=1)
            found.append((contents[there], loads[there]))
        return found

    def _hopeless(self, counts: Ints, nodes: tuple[int, ...], free: Ints, largest: int) -> bool:
        """Whether no node may have the largest pod: of contents with that there are the fewest."""
        return not any(
            len(nearly_full(self._asks, counts, room, free, self._work, largest)[0])
            for room, n in zip(self._rooms, nodes, strict=True)
            if n
        )
