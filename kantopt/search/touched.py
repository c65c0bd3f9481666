"""Nodes in the order in which they changed, for those who remember what they have worked out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self


class Touched:
    """A list that only grows, and may forget its beginning: what is asked of that is all nodes.

    Whoever remembers something keeps how long it was then, and asks for what has come since.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes, self._begin = nodes, 0
        self._last: list[int] = []

    def __len__(self) -> int:
        return self._begin + len(self._last)

    def __getitem__(self, since: slice) -> list[int]:
        begin, end, step = since.indices(len(self))
        assert step == 1, "in order"
        if begin < self._begin and begin < end:
            return list(range(self._nodes))
        return self._last[max(0, begin - self._begin) : max(0, end - self._begin)]

    def __iadd__(self, nodes: Iterable[int]) -> Self:
        self._last += nodes
        return self

    def append(self, n: int) -> None:
        """Add a node."""
        self._last.append(n)

    def forget(self) -> None:
        """Forget all but the last, once there are many more of them than nodes."""
        if len(self._last) > 64 * (self._nodes + 16):
            gone = len(self._last) - self._nodes
            del self._last[:gone]
            self._begin += gone
