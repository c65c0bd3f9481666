"""What is left over of a node once pods like those known keep coming: a look past the next pod.

FGD asks which pods a node could still take, one at a time. Here whole sequences of pods are tried:
of a node that could take a half and then nothing, half is left over; of one that could take two
halves, nothing is.
"""

from __future__ import annotations

import random

import numpy as np

from kantopt.search.insertion.increase import Increase
from kantopt.search.insertion.kinds import Kinds
from kantopt.search.insertion.reserve import Reserve
from kantopt.search.shapes import Ints
from kantopt.search.state import UNLIMITED, State

_SEQUENCES = 16
_LENGTH = 30
"""More pods than most nodes take: after them a node is full of what it can be full of."""
_NO_CLASS = -2
"""Of a pod without devices; -1 stands for a class that no node has."""
_AT_ONCE = 256
"""Nodes tried together, so few that their devices stay in the cache of the processor."""


class Lookahead(Increase):
    """Milli-GPU left over of each node, summed over some random sequences of known pods.

    Known are all pods of the instance, running and pending, as often as they occur. In a sequence
    each pod that fits is taken, on the device that has least left, and the others are gone. Pods
    of more than one GPU are not in the sequences: they do not come to every node, one node
    somewhere is to be there when they come (:class:`Reserve`).
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        kinds = Kinds(state)
        small = [kind for kind in kinds.all if kind.gpus <= 1000]
        small = [kind for kind in small if sum(need.count for need in kind.shape.needs) <= 1]
        self._sequences = _SEQUENCES if any(kind.gpus for kind in small) else 0
        known = small or kinds.all
        drawn = random.Random(0).choices(
            [kind.shape for kind in known],
            [kind.pods for kind in known],
            k=self._sequences * _LENGTH,
        )
        rows = len(state.device_resources)
        by_step = (_LENGTH, self._sequences)
        asks: Ints = np.array([shape.request for shape in drawn], dtype=np.int64)
        asks = asks.reshape(*by_step, len(state.instance.resources))
        self._asked = np.flatnonzero(asks.any(axis=(0, 1)))
        self._asks = asks[:, :, self._asked]
        self._class: Ints = np.full(by_step, _NO_CLASS, dtype=np.int64)
        self._device_asks: Ints = np.zeros((*by_step, rows), dtype=np.int64)
        for i, shape in enumerate(drawn):
            step = divmod(i, self._sequences)
            for need in shape.needs:
                self._class[step] = need.device_class
                for row, amount in need.ask:
                    self._device_asks[*step, row] = amount
        self._weights = np.array([state.gpu_weight[r] for r in state.device_resources])
        self._known: dict[bytes, int] = {}
        self.reserve = Reserve(state, kinds, self._useful, max(1, self._sequences))

    def measure(self, free: Ints, devices: Ints, classes: Ints) -> Ints:
        """Milli-GPU left over for each column of ``free``, the sum over all sequences."""
        ordered = self._ordered(devices).transpose(1, 0, 2).reshape(len(classes), -1)
        states = np.concatenate((free[self._asked].T, ordered, classes), axis=1)
        keys = [row.tobytes() for row in np.ascontiguousarray(states)]
        new = list({key: i for i, key in enumerate(keys) if key not in self._known}.items())
        for first in range(0, len(new), _AT_ONCE):
            some = new[first : first + _AT_ONCE]
            columns = np.array([i for _, i in some])
            left = self._left_over(free[:, columns], devices[:, columns], classes[columns])
            self._known.update(zip([key for key, _ in some], left.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=np.int64)

    def _useful(self, nodes: Ints) -> Ints:
        """Milli-GPU of nodes that are free and not left over, the sum over all sequences."""
        state = self.state
        free, devices = state.free[:, nodes], state.devices[:, nodes]
        left = max(1, self._sequences) * state.gpus_left(nodes)
        over = self.measure(free, devices, state.device_class[nodes])
        return np.asarray(np.maximum(0, left - over), dtype=np.int64)

    def _ordered(self, devices: Ints) -> Ints:
        """Devices so that nodes which differ in their order only are seen to be equal."""
        one_class = len(self.state.classes) < 2
        return np.sort(devices, axis=2) if one_class and len(devices) == 1 else devices

    def _left_over(self, free: Ints, devices: Ints, classes: Ints) -> Ints:
        gpus = self.state.gpu_weight @ np.where(free < UNLIMITED // 2, np.maximum(free, 0), 0)
        if not classes.shape[1]:  # no node has devices: one of no class, so that none is chosen
            classes = np.full((len(classes), 1), -1, dtype=np.int64)
            devices = np.zeros((len(devices), len(classes), 1), dtype=np.int64)
        room = np.repeat(free[self._asked, :, None], self._sequences, axis=2)
        shares = np.repeat(devices[:, :, None, :], self._sequences, axis=2)
        kinds = classes[:, None, :]
        at = np.ix_(range(free.shape[1]), range(self._sequences))
        for asks, kind, device_asks in zip(self._asks, self._class, self._device_asks, strict=True):
            fits = (room >= asks.T[:, None, :]).all(axis=0)
            able = kinds == kind[:, None]
            for row, amounts in zip(shares, device_asks.T, strict=True):
                able &= row >= amounts[:, None]
            total = shares[0] if len(shares) == 1 else shares.sum(axis=0)
            device = np.where(able, total, UNLIMITED).argmin(axis=2)
            fits &= able[(*at, device)] | (kind == _NO_CLASS)
            room -= asks.T[:, None, :] * fits
            for row, amounts in zip(shares, device_asks.T, strict=True):
                row[(*at, device)] -= amounts * fits
        taken = free[self._asked, :, None] - room
        node = gpus[:, None] - np.tensordot(self.state.gpu_weight[self._asked], taken, axes=1)
        on_devices = np.tensordot(self._weights, np.maximum(shares, 0).sum(axis=3), axes=1)
        return np.asarray((node + on_devices).sum(axis=1), dtype=np.int64)
