"""FGD's measure over many nodes at once: how much a pod would strand, and on which device least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kantopt.problem.mix import Shape
from kantopt.search.shapes import ClassNeed, Ints, Mask, PodShape
from kantopt.search.state import UNLIMITED, State, best_devices


class Stranded:
    """Stranded milli-GPU of a job mix: the formula of ``stranded_on``, over arrays of nodes."""

    def __init__(self, state: State, mix: Sequence[Shape]) -> None:
        self._state = state
        self._weights: Ints = np.array([shape.weight for shape in mix], dtype=np.int64)
        resources = len(state.instance.resources)
        self._asks: Ints = np.array([shape.requests for shape in mix]).reshape(-1, resources)
        self._usable: Mask = (self._asks @ state.gpu_weight) > 0
        rows = len(state.device_resources)
        self._counts: Ints = np.zeros((len(state.classes), len(mix)), dtype=np.int64)
        self._device_asks: Ints = np.zeros((len(state.classes), len(mix), rows), dtype=np.int64)
        self._hopeless = np.zeros(len(mix), dtype=np.bool_)
        self._device: dict[int, Ints] = {}
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

    def measure(self, free: Ints, devices: Ints, classes: Ints) -> Ints:
        """Stranded milli-GPU for each column of ``free`` with its devices."""
        state = self._state
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

    def increase(self, shape: PodShape, nodes: Ints) -> Ints:
        """Return by how much one pod on each node raises the measure, on its best devices.

        The pod must fit on the nodes. The best devices are remembered.
        """
        state = self._state
        free, devices = state.free[:, nodes], state.devices[:, nodes]
        classes = state.device_class[nodes]
        before = self.measure(free, devices, classes)
        free = free - shape.request[:, None]
        if len(shape.needs) == 1 and shape.needs[0].count == 1:
            node, device = _options(devices, classes, shape.needs[0])
            after = self._after(free, devices, classes, shape.needs[0], node, device)
            order = np.lexsort((device, after, node))
            first = order[np.unique(node[order], return_index=True)[1]]
            if shape.index not in self._device:
                self._device[shape.index] = np.full(state.size, -1)
            self._device[shape.index][nodes] = device[first]
            return after[first] - before
        devices = devices.copy()
        for need in shape.needs:
            take_least(devices, classes, need)
        return self.measure(free, devices, classes) - before

    def best_devices(self, s: int, n: int) -> tuple[int, ...] | None:
        """Return the devices of a node on which one pod strands least; ``None`` if none fit.

        The increase must have been asked for since the node changed.
        """
        state, shape = self._state, self._state.shape[s]
        if len(shape.needs) != 1 or shape.needs[0].count != 1:
            return best_devices(state, s, n)
        return (int(self._device[shape.index][n]),)

    def _after(
        self, free: Ints, devices: Ints, classes: Ints, need: ClassNeed, node: Ints, device: Ints
    ) -> Ints:
        changed = devices[:, node]
        for row, amount in need.ask:
            changed[row, np.arange(len(node)), device] -= amount
        return self.measure(free[:, node], changed, classes[node])


def _able(devices: Ints, classes: Ints, need: ClassNeed) -> Mask:
    able: Mask = classes == need.device_class
    for row, amount in need.ask:
        able &= devices[row] >= amount
    return able


def _options(devices: Ints, classes: Ints, need: ClassNeed) -> tuple[Ints, Ints]:
    """Nodes and devices that take one pod; of equal devices of a node only the first."""
    able = _able(devices, classes, need)
    if len(able) > 16:  # worth the sorting only for many nodes
        order = np.argsort(devices.sum(axis=0), axis=1, kind="stable")
        ordered = np.take_along_axis(devices, order[None], axis=2)
        same = (ordered[:, :, 1:] == ordered[:, :, :-1]).all(axis=0)
        same &= np.take_along_axis(classes, order, axis=1)[:, :-1] == need.device_class
        repeated = np.zeros(able.shape, dtype=np.bool_)
        np.put_along_axis(repeated, order[:, 1:], same, axis=1)
        able &= ~repeated
    node, device = np.nonzero(able)
    return node, device


def take_least(devices: Ints, classes: Ints, need: ClassNeed) -> None:
    """Take one pod's devices on every node: those that fit and have least left."""
    able = _able(devices, classes, need)
    left = devices[[row for row, _ in need.ask]].sum(axis=0)
    order = np.argsort(np.where(able, left, UNLIMITED), axis=1, kind="stable")[:, : need.count]
    nodes = np.arange(len(order))[:, None]
    for row, amount in need.ask:
        devices[row, nodes, order] -= amount
