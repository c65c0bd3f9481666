"""Which nodes have room for one more pod, of many shapes at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kantopt.search.shapes import ClassNeed, Ints, Mask, PodShape


class Holding:
    """Shapes as arrays; devices are asked by need, since many shapes share one.

    ``rows`` is the number of resources that devices offer, ``resources`` that of all.
    """

    def __init__(self, shapes: Sequence[PodShape], rows: int, resources: int) -> None:
        asks = np.array([shape.request for shape in shapes], dtype=np.int64)
        asks = asks.reshape(len(shapes), resources)
        self._asks = [(r, asks[:, r]) for r in np.flatnonzero(asks.any(axis=0)).tolist()]
        needs: dict[ClassNeed, int] = {}
        for shape in shapes:
            for need in shape.needs:
                needs.setdefault(need, len(needs))
        self._class: Ints = np.array([need.device_class for need in needs], dtype=np.int64)
        self._count: Ints = np.array([need.count for need in needs], dtype=np.int64)
        self._device_asks: Ints = np.zeros((rows, len(needs)), dtype=np.int64)
        for i, need in enumerate(needs):
            for row, amount in need.ask:
                self._device_asks[row, i] = amount
        most = max((len(shape.needs) for shape in shapes), default=0)
        of = [[needs[need] for need in shape.needs] for shape in shapes]
        nothing = len(needs)  # what a shape with fewer needs asks for beyond them
        self._needs = [
            np.array([own[i] if i < len(own) else nothing for own in of]) for i in range(most)
        ]

    def of(self, free: Ints, devices: Ints, classes: Ints) -> Mask:
        """Whether each column of ``free`` with its devices has room for a pod, by shape."""
        holds: Mask = np.ones((free.shape[1], 1), dtype=np.bool_)
        able: Mask = classes[:, :, None] == self._class
        for row, amounts in zip(devices, self._device_asks, strict=True):
            if amounts.any():
                able &= row[:, :, None] >= amounts
        enough = np.ones((free.shape[1], len(self._class) + 1), dtype=np.bool_)
        np.greater_equal(able.sum(axis=1), self._count, out=enough[:, :-1])
        for need in self._needs:
            holds = holds & enough[:, need]
        for r, amounts in self._asks:
            holds = holds & (free[r][:, None] >= amounts)
        return holds
