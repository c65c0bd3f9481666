"""Where neighbours admit one more pod: anti-affinity, spread and affinity as rows of room."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kantopt.search.chains.scope import Scope, neighbours_of
from kantopt.search.shapes import Mask


class Admission:
    """Pods of the groups and of all others, as neighbours count them by domain.

    Groups of one kin are asked about once. Begins with none of the groups' pods placed.

    Attributes
    ----------
    rows
        Row of each kin among those of all that have groups.
    """

    def __init__(self, scope: Scope) -> None:
        self._neighbours = neighbours_of(scope.instance)
        self._nodes = len(scope.instance.nodes)
        self._podset = [group.podsets[0] for group in scope.groups]
        kins = sorted({group.kin for group in scope.groups if group.kin is not None})
        self.rows = {kin: row for row, kin in enumerate(kins)}
        self._row = [None if g.kin is None else self.rows[g.kin] for g in scope.groups]
        first = {row: s for s, row in zip(self._podset, self._row, strict=True) if row is not None}
        self._first = [first[row] for row in range(len(first))]
        """A pod set of each kin: what is said of it is said of all."""
        self._said = [{i for i, *_ in self._neighbours.kin(s)} for s in self._first]
        self._beside = [
            [row for row, other in enumerate(self._said) if said & other] for said in self._said
        ]
        """Rows that change with pods of each kin."""
        self._changed: set[int] = set()
        self._broken: set[int] = set()
        for s, spot, pods in scope.others:
            stay = min(pods, scope.instance.podsets[s].current.get(spot, 0))
            self._neighbours.add(s, spot.node, stay, arrival=False)
            self._neighbours.add(s, spot.node, pods - stay, arrival=True)

    def beside(self, g: int) -> list[int]:
        """Groups that pods of a group matter to."""
        row = self._row[g]
        rows = () if row is None else self._beside[row]
        return [i for i, other in enumerate(self._row) if other in rows]

    def nodes(self, row: int) -> Mask:
        """Nodes that one more pod of a kin may come to."""
        admitted = self._neighbours.admits(self._first[row])
        return np.ones(self._nodes, dtype=np.bool_) if admitted is None else admitted

    def count(self, g: int, n: int, pods: int, *, arrival: bool) -> Iterator[tuple[int, Mask]]:
        """Take note of pods of a group that come (or go, below 0); yield the rows that change."""
        row = self._row[g]
        if row is not None:
            self._neighbours.add(self._podset[g], n, pods, arrival=arrival)
            self._changed.add(row)
            for other in self._beside[row]:
                yield other, self.nodes(other)

    def broken(self) -> int:
        """Return how many rules are broken by pods that have arrived."""
        for row in self._changed:
            self._broken -= self._said[row]
            self._broken |= self._neighbours.broken(self._first[row])
        self._changed.clear()
        return len(self._broken)
