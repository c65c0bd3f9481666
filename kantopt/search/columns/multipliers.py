"""Multipliers of resources under which no arriving pod is worth more than the room it takes."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from kantopt.search.shapes import Ints

_BITS = 24
"""Multipliers are in units of ``2 ** -_BITS`` of a price's unit, or coarser if that overflows."""
_LARGEST = 2**60
DUST = 2.0**-20
"""Share of the largest room below which a request is too small for multipliers."""
_STEPS = 8
"""Steps from one resource to the other where there are two."""

Floats = NDArray[np.float64]


class Multipliers:
    """Several vectors of multipliers, each of which bounds the worth of what fits into a room.

    Parameters
    ----------
    ask
        Requests of the pods that may arrive, each above ``DUST`` in some resource; (R, G).
    prices
        What they are worth, positive; (G,).
    room
        Room of the nodes; no room asked about later is larger than the largest; (R, N).
    """

    def __init__(self, ask: Ints, prices: Ints, room: Ints) -> None:
        largest = np.maximum(room.max(axis=1), 1)
        shares = ask / largest[:, None]
        scales = []
        for direction in _directions(len(ask)):
            taken = direction @ shares
            if (taken > 0).all():
                scales.append((float((prices / taken).max()), direction / largest))
        self.bits = _BITS
        while min(scale for scale, _ in scales) * 2**self.bits > _LARGEST / 2:
            self.bits -= 1
        rows = []
        for scale, each in scales:
            row = np.ceil(scale * 2.0**self.bits * each)
            if float(row @ largest) <= _LARGEST:
                rows.append(row.astype(np.int64))
        self.rows: Ints = np.array(rows, dtype=np.int64)
        # Floats proposed; what they lack of being multipliers is added exactly.
        while (short := (self.rows @ ask < prices << self.bits).any(axis=1)).any():
            self.rows[short] += 1
        ratio = (prices << self.bits) / (self.rows @ ask)
        self.order: Ints = np.argsort(-ratio.min(axis=0), kind="stable")
        """Pods by worth for the room they take."""

    def worth(self, room: Ints) -> Ints:
        """Most that what fits into rooms (R, M) is worth, by each vector; (V, M)."""
        return -((-(self.rows @ room)) >> self.bits)


def _directions(resources: int) -> list[Floats]:
    """Proportions of the multipliers; the first gives all resources the same weight."""
    found = [np.ones(resources), *np.eye(resources)]
    if resources == 2:
        found += [np.array([k, _STEPS - k]) for k in range(1, _STEPS)]
    elif resources > 2:
        found += [np.eye(resources)[[i, j]].sum(axis=0) for i, j in _pairs(resources)]
    return found


def _pairs(resources: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(resources), 2))
