"""By how much a pod would raise a measure of nodes, and on which devices least."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kantopt.search.shapes import ClassNeed, Ints, Mask, PodShape
from kantopt.search.state import UNLIMITED, State, best_devices


class Increase(ABC):
    """A measure of what is free on a node; one more pod is to raise it as little as possible."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._device: dict[int, Ints] = {}

    @abstractmethod
    def measure(self, free: Ints, devices: Ints, classes: Ints) -> Ints:
        """Measure each column of ``free`` with its devices."""

    def increase(self, shape: PodShape, nodes: Ints) -> Ints:
        """Return by how much one pod on each node raises the measure, on its best devices.

        The pod must fit on the nodes. The best devices are remembered.
        """
        state = self.state
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

    def placed(self, shape: PodShape, nodes: Ints) -> tuple[Ints, Ints]:
        """Return what is free of nodes and devices with one more pod on its best devices.

        The increase must have been asked for since the nodes changed.
        """
        free = self.state.free[:, nodes] - shape.request[:, None]
        devices = self.state.devices[:, nodes].copy()
        if len(shape.needs) == 1 and shape.needs[0].count == 1:
            device = self._device[shape.index][nodes]
            for row, amount in shape.needs[0].ask:
                devices[row, np.arange(len(nodes)), device] -= amount
        else:
            for need in shape.needs:
                take_least(devices, self.state.device_class[nodes], need)
        return free, devices

    def best_devices(self, s: int, n: int) -> tuple[int, ...] | None:
        """Return the devices of a node on which one pod raises the measure least.

        ``None`` if too few have room. The increase must have been asked for since the node changed.
        """
        state, shape = self.state, self.state.shape[s]
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
