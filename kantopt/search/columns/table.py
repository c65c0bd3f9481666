"""What the pods from one place of an order on are worth at most in a room: by a coarse knapsack.

Room is counted in cells of a grid, what a pod takes is rounded down to whole cells: what fits
together in truth also fits on the grid, so that no worth is underestimated. That holds as well
where a resource is left out.
"""

from __future__ import annotations

import numpy as np

from kantopt.search.shapes import Ints

MOST_ENTRIES = 1 << 23
"""Cells times places up to which the grid is as fine as asked for."""
COARSE = 8
"""Cells along a side below which resources are left out of which a node has one at most."""


class Table:
    """Upper bounds on the worth of pods, by first place and cell.

    Parameters
    ----------
    ask
        Requests, in order; (R, K).
    worth
        What a pod is worth, positive; (K,).
    most
        Pods of each place that may arrive on one node; (K,).
    largest
        Room beyond which nobody will ask, per resource; (R,).
    cells
        About how many cells the grid has over all resources.
    """

    def __init__(self, ask: Ints, worth: Ints, most: Ints, largest: Ints, cells: int) -> None:
        places = len(worth)
        cells = max(64, min(cells, MOST_ENTRIES // (places + 1)))
        self._counted = np.arange(len(ask))
        if cells ** (1 / len(ask)) < COARSE and (largest > 1).any():
            self._counted = np.flatnonzero(largest > 1)
        ask, largest = ask[self._counted], largest[self._counted]
        side = max(2, round(cells ** (1 / len(ask))))
        self._unit: Ints = largest // side + 1
        shape = tuple((largest // self._unit + 1).tolist())
        self._strides: Ints = np.cumprod([1, *shape[:0:-1]])[::-1].astype(np.int64)
        rows = np.zeros((places + 1, *shape), dtype=np.int64)
        for i in reversed(range(places)):
            row = rows[i]
            row[...] = rows[i + 1]
            left, step = int(most[i]), 1
            while left:
                pods = min(step, left)
                shift = (ask[:, i] * pods) // self._unit
                if (shift >= shape).any():
                    break  # fewer than that are sums of what there was before
                to = tuple(slice(s, None) for s in shift.tolist())
                of = tuple(slice(None, d - s) for s, d in zip(shift.tolist(), shape, strict=True))
                row[to] = np.maximum(row[to], row[of] + pods * int(worth[i]))
                left -= pods
                step *= 2
        self._rows: Ints = rows.reshape(places + 1, -1)

    def most(self, room: Ints, first: Ints | int) -> Ints:
        """Most that pods from place ``first`` of the order on are worth in rooms (R, M); (M,)."""
        cell = self._strides @ (room[self._counted] // self._unit[:, None])
        return np.asarray(self._rows[first, cell])
