"""Nodes held back for pods of several GPUs, for as long as such pods are to be expected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kantopt.search.shapes import Ints, Mask, PodShape
from kantopt.search.state import State


class Reserve:
    """How many nodes could take each pod of several GPUs, and how many of those will come.

    Of the pods that will come the GPUs still free are the measure: as many as fill them, mixed as
    the pods known.
    """

    def __init__(self, state: State, shapes: Sequence[PodShape], weights: Sequence[int]) -> None:
        self._state = state
        gpus = [int(shape.demand @ state.gpu_weight) for shape in shapes]
        large = [t for t, milli in enumerate(gpus) if milli > 1000]
        self.shapes = [shapes[t] for t in large]
        self._able: Mask = np.zeros((state.size, len(large)), dtype=np.bool_)
        self._seen = len(state.touched)
        self._look(np.arange(state.size))
        elsewhere = self._able[:, :, None] & ~self._able[:, None, :]
        somewhere = np.asarray(self._able.any(axis=0), dtype=np.bool_)
        self._takes: Mask = somewhere[:, None] & ~elsewhere.any(axis=0)
        """Which large pods can only take nodes that another could take: they are in its way."""
        self._number = {shape.index: b for b, shape in enumerate(self.shapes)}
        total = max(1, sum(milli * pods for milli, pods in zip(gpus, weights, strict=True)))
        pods = np.array([weights[t] for t in large], dtype=np.int64)
        self._per_milli = (pods @ self._takes) / total
        """Pods in the way of each large one, itself among them, for each milli-GPU asked for."""

    def _look(self, nodes: Ints) -> None:
        state = self._state
        free, devices = state.free[:, nodes], state.devices[:, nodes]
        for b, shape in enumerate(self.shapes):
            self._able[nodes, b] = _holds(shape, free, devices, state.device_class[nodes])

    def _look_again(self) -> None:
        changed = self._state.touched[self._seen :]
        self._seen += len(changed)
        if changed:
            self._look(np.unique(changed))

    def lost(self, shape: PodShape, nodes: Ints, free: Ints, devices: Ints) -> Mask:
        """For which large pods each node is too small, with what is then free, and was not before.

        A pod that is itself in the way of a large one, by its size, costs it nothing.
        """
        self._look_again()
        lost = self._able[nodes]
        own = self._number.get(shape.index)
        if own is not None:
            lost &= ~self._takes[own]
        could = np.flatnonzero(lost.any(axis=1))
        classes = self._state.device_class[nodes[could]]
        for b in np.flatnonzero(lost.any(axis=0)).tolist():
            lost[could, b] &= ~_holds(self.shapes[b], free[:, could], devices[:, could], classes)
        return lost

    def scarce(self) -> Mask:
        """Tell which large pods have no more nodes than are to be expected of them."""
        self._look_again()
        expected = self._per_milli * int(self._state.gpus_left().sum())
        # The number of arrivals varies by its square root, and twice that is rare.
        most = expected + 2 * np.sqrt(expected)
        return np.asarray(self._able.sum(axis=0) <= most, dtype=np.bool_)


def _holds(shape: PodShape, free: Ints, devices: Ints, classes: Ints) -> Mask:
    """Whether each column of ``free`` with its devices has room for a pod."""
    holds: Mask = np.ones(free.shape[1], dtype=np.bool_)
    for r, amount in shape.asks:
        holds &= free[r] >= amount
    for need in shape.needs:
        able: Mask = classes == need.device_class
        for row, amount in need.ask:
            able &= devices[row] >= amount
        holds &= able.sum(axis=1) >= need.count
    return holds
