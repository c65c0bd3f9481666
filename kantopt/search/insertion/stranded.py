"""FGD's measure over many nodes at once: how much a pod would strand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kantopt.problem.counted import counted_nodes
from kantopt.problem.mix import Shape
from kantopt.search.insertion.increase import Increase
from kantopt.search.shapes import Ints, Mask, PodShape, mask_of
from kantopt.search.state import UNLIMITED, State


class Stranded(Increase):
    """Stranded milli-GPU of a job mix: the formula of ``Stranding``, over arrays of nodes."""

    def __init__(self, state: State, mix: Sequence[Shape]) -> None:
        super().__init__(state)
        self._counted = mask_of(state.size, counted_nodes(state.instance))
        self._weights: Ints = np.array([shape.weight for shape in mix], dtype=np.int64)
        resources = len(state.instance.resources)
        self._asks: Ints = np.array([shape.requests for shape in mix]).reshape(-1, resources)
        self._usable: Mask = (self._asks @ state.gpu_weight) > 0
        rows = len(state.device_resources)
        self._counts: Ints = np.zeros((len(state.classes), len(mix)), dtype=np.int64)
        self._device_asks: Ints = np.zeros((len(state.classes), len(mix), rows), dtype=np.int64)
        self._hopeless = np.zeros(len(mix), dtype=np.bool_)
        for t, shape in enumerate(mix):
            for need in shape.devices:
                if need.device_class not in state.classes:
                    self._hopeless[t] = True
                    continue
                c = state.classes.index(need.device_class)
                self._counts[c, t] = need.count
                for row, r in enumerate(state.device_resources):
                    self._device_asks[c, t, row] = need.request[r]
                known = set(state.device_resources)
                if any(a for r, a in enumerate(need.request) if r not in known):
                    self._hopeless[t] = True

    def increase(self, shape: PodShape, nodes: Ints) -> Ints:
        """As of every measure; nothing on nodes that the metric does not count."""
        return np.where(self._counted[nodes], super().increase(shape, nodes), 0)

    def measure(self, free: Ints, devices: Ints, classes: Ints) -> Ints:
        """Stranded milli-GPU for each column of ``free`` with its devices."""
        state = self.state
        limited = np.where(free < UNLIMITED // 2, np.maximum(free, 0), 0)
        counted = state.gpu_weight @ limited
        shares = np.zeros(classes.shape, dtype=np.int64)
        for row, r in enumerate(state.device_resources):
            if state.gpu_weight[r]:
                shares += state.gpu_weight[r] * np.maximum(devices[row], 0)
        hosts = np.ones((free.shape[1], len(self._weights)), dtype=np.bool_)
        hosts[:, self._hopeless] = False
        for r in np.flatnonzero(self._asks.any(axis=0)).tolist():
            hosts &= free[r][:, None] >= self._asks[None, :, r]
        useful = np.zeros(hosts.shape, dtype=np.int64)
        for c in np.flatnonzero(self._counts.any(axis=1)).tolist():
            able = (classes == c)[:, :, None] & (self._counts[c] > 0)[None, None, :]
            for row in np.flatnonzero(self._device_asks[c].any(axis=0)).tolist():
                able &= devices[row][:, :, None] >= self._device_asks[c][None, None, :, row]
            hosts &= able.sum(axis=1) >= self._counts[c]
            useful += np.einsum("pd,pdt->pt", shares, able)
        useful += np.where(self._usable[None, :], counted[:, None], 0)
        total = counted + shares.sum(axis=1)
        return np.asarray((total[:, None] - hosts * useful) @ self._weights, dtype=np.int64)
