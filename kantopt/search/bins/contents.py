"""All contents of a node that leave next to nothing of it free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from kantopt.search.shapes import Ints

Counts = NDArray[np.signedinteger]
"""Pods of each kind (columns), a row for each content."""


MOST = 60_000_000
"""Most numbers that contents kept at a time may have, each a byte or little more."""
_BLOCK = 500_000
"""Pairs of halves that are looked at together."""
_FEW = 8
"""Kinds of pods in a row that are no more work than one number."""


class SpentError(Exception):
    """More work than there was to spend."""


class Work:
    """Work that may be spent, counted alike on every machine.

    A unit is about a few numbers looked at: a tenth of a microsecond.
    """

    def __init__(self, most: int, over: Callable[[], bool] = lambda: False) -> None:
        self.left = most
        self.over = over

    def take(self, units: int) -> None:
        """Spend some work.

        Raises
        ------
        SpentError
            If there is not so much, or no time.
        """
        self.left -= units
        if self.left < 0 or self.over():
            raise SpentError


def nearly_full(
    asks: Ints, counts: Ints, room: Ints, free: Ints, work: Work, first: int | None = None
) -> tuple[Counts, Ints]:
    """Return all contents of a node that leave no more than so much of it free, and their loads.

    Kinds of pods are divided in two; of the contents of either half those are joined that
    together come near enough to what the node has (Horowitz and Sahni 1974).

    Parameters
    ----------
    asks
        What a pod asks for: a row for each kind, a column for each resource. Large kinds first.
    counts
        Pods of each kind.
    room, free
        What the node has, and how much of it may be left, by resource.
    first
        Kind of which there is to be a pod at least.

    Raises
    ------
    SpentError
        If there are too many of them.
    """
    have = counts.copy()
    if first is not None:
        room = room - asks[first]
        have[first] -= 1
    if (room < 0).any():
        return np.zeros((0, len(counts)), _dtype(counts)), np.zeros((0, len(room)), np.int64)
    kinds = np.flatnonzero((have > 0) & (asks <= room).all(axis=1))
    half = _half(asks[kinds], have[kinds], room)
    large, small = kinds[:half], kinds[half:]
    left, left_loads = _contents(asks[large], have[large], room, work)
    right, right_loads = _contents(asks[small], have[small], room, work)
    # By the resource of which the least can be left, beside how much loads differ in it.
    r = int(np.argmin(free / (np.ptp(right_loads, axis=0) + 1)))
    order = np.argsort(right_loads[:, r], kind="stable")
    right, right_loads = right[order], right_loads[order]
    rest = room[r] - left_loads[:, r]
    lowest = np.searchsorted(right_loads[:, r], rest - free[r], "left")
    number = np.searchsorted(right_loads[:, r], rest, "right") - lowest
    work.take(int(number.sum()))
    near = [
        _joined(left_loads, right_loads, lowest, number, rows, room, free)
        for rows in _blocks(number)
    ]
    i, j = (np.concatenate(indices) for indices in zip(*near, strict=True))
    _limit(len(i) * len(counts))
    found = np.zeros((len(i), len(counts)), _dtype(counts))
    found[:, large], found[:, small] = left[i], right[j]
    loads = left_loads[i] + right_loads[j]
    if first is not None:
        found[:, first] += 1
        loads = loads + asks[first]
    return found, loads


def _blocks(number: Ints) -> Iterator[slice]:
    """Divide rows, of which each has a number of partners, so that few pairs are seen at once."""
    sums = np.cumsum(number)
    start = 0
    while start < len(number):
        before = int(sums[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(sums, before + _BLOCK, "right")))
        yield slice(start, end)
        start = end


def _joined(
    left: Ints, right: Ints, lowest: Ints, number: Ints, rows: slice, room: Ints, free: Ints
) -> tuple[Ints, Ints]:
    """Return the pairs of some rows with their partners whose sums are near enough."""
    count = number[rows]
    i = np.repeat(np.arange(rows.start, rows.stop), count)
    first = np.repeat(lowest[rows] - np.cumsum(count) + count, count)
    j = np.arange(len(i)) + first
    loads = left[i] + right[j]
    near = np.flatnonzero(((loads <= room) & (room - loads <= free)).all(axis=1))
    return i[near], j[near]


def _contents(asks: Ints, counts: Ints, room: Ints, work: Work) -> tuple[Counts, Ints]:
    """Return all contents with room on a node, the empty one among them, and their loads."""
    found = np.zeros((1, len(counts)), _dtype(counts))
    loads = np.zeros((1, len(room)), np.int64)
    for k, (ask, count) in enumerate(zip(asks, counts.tolist(), strict=True)):
        rows, sums = [found], [loads]
        for pods in range(1, count + 1):
            more = sums[-1] + ask
            fits = (more <= room).all(axis=1)
            if not fits.any():
                break
            fitting = int(fits.sum())
            work.take(fitting * (1 + len(counts) // _FEW))
            _limit((sum(map(len, rows)) + fitting) * len(counts))
            with_more = rows[-1][fits]
            with_more[:, k] = pods
            rows.append(with_more)
            sums.append(more[fits])
        found, loads = np.concatenate(rows), np.concatenate(sums)
    return found, loads


def _limit(numbers: int) -> None:
    if numbers > MOST:
        raise SpentError


def _dtype(counts: Ints) -> type[np.signedinteger]:
    """Return the least that holds as many pods: contents are many."""
    return np.int8 if counts.max(initial=0) < 128 else np.int64


def _half(asks: Ints, counts: Ints, room: Ints) -> int:
    """Return how many kinds to take for the first half, so that both have as many contents."""
    kinds = len(counts)
    return min(
        range(kinds + 1),
        key=lambda h: max(
            _variety(asks[:h], counts[:h], room), _variety(asks[h:], counts[h:], room)
        ),
        default=0,
    )


def _variety(asks: Ints, counts: Ints, room: Ints) -> float:
    """Logarithm of about how many contents there are: multisets of as many pods as fit."""
    pods = int(counts.sum())
    if not pods:
        return 0.0
    total = (asks * counts[:, None]).sum(axis=0)
    fit = min([pods, *(r * pods / t for r, t in zip(room, total, strict=True) if t)])
    return lgamma(len(counts) + fit + 1) - lgamma(len(counts) + 1) - lgamma(fit + 1)


def by_size(asks: Ints, room: Sequence[int]) -> Ints:
    """Return the order of kinds by their largest share of a node, the largest first."""
    return np.argsort(-(asks / np.maximum(np.asarray(room), 1)).max(axis=1), kind="stable")
