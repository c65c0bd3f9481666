"""Contents of nodes chosen from a list: those that are worth most at prices, then whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kantopt.cp.masters.covering import Content, CoverProgram, Demand, Point, cover
from kantopt.search.bins.contents import Counts
from kantopt.search.bins.packing import Filled

NEAREST = 1000
"""Contents to choose from: with more HiGHS takes long to find anything."""
_AT_ONCE = 200
"""Contents that are added to the linear program at a time."""
_TOLERANCE = 1e-6

Gains = list[NDArray[np.float32]]
"""Of each content of each class, what the optimum gains by it."""


def chosen(
    listed: Sequence[Counts], demand: Demand, seconds: float, over: Callable[[], bool]
) -> list[Filled] | None:
    """Choose contents of nodes, of each class from a list (rows: contents, columns: kinds).

    ``None`` if nothing is found that holds what must be placed; ``seconds`` limit the search for
    whole numbers.
    """
    nearest = _nearest(listed, demand, over)
    if not nearest or over():
        return None
    used = cover([_content(listed, key) for key in nearest], demand, seconds)
    if used is None:
        return None
    left, found = np.array(demand.counts), []
    for (c, i), n in zip(nearest, used, strict=True):
        for _ in range(n):
            pods = np.minimum(listed[c][i], left)
            left -= pods
            found.append(Filled(c, tuple(pods.tolist())))
    return found


def _nearest(
    listed: Sequence[Counts], demand: Demand, over: Callable[[], bool]
) -> list[tuple[int, int]]:
    """Class and index of the contents that lower the linear program's optimum least.

    None at all if not even parts of contents hold what must be placed.
    """
    tables = [table.astype(np.float32) for table in listed]
    program = CoverProgram(demand)
    known: set[tuple[int, int]] = set()
    point = Point([1.0] * len(demand.counts), [0.0] * len(listed), enough=False)
    gains = _gains(tables, point)
    while new := [key for key in _best(gains, _AT_ONCE, _TOLERANCE) if key not in known]:
        if over():
            return []
        for key in new:
            program.add(_content(listed, key))
        known.update(new)
        point = program.solve()
        gains = _gains(tables, point)
    return _best(gains, NEAREST, -np.inf) if point.enough else []


def _content(listed: Sequence[Counts], key: tuple[int, int]) -> Content:
    c, i = key
    row = listed[c][i]
    return Content(c, [(g, int(row[g])) for g in np.flatnonzero(row).tolist()])


def _gains(tables: Sequence[NDArray[np.float32]], point: Point) -> Gains:
    prices = np.array(point.prices, dtype=np.float32)
    return [
        table @ prices - np.float32(worth) for table, worth in zip(tables, point.worth, strict=True)
    ]


def _best(gains: Gains, most: int, above: float) -> list[tuple[int, int]]:
    """Class and index of the contents of greatest gain, of those above some gain."""
    found = []
    for c, gain in enumerate(gains):
        order = np.argsort(-gain, kind="stable")[:most]
        found += [(-float(gain[i]), c, int(i)) for i in order if gain[i] > above]
    return [(c, i) for _, c, i in sorted(found)[:most]]
