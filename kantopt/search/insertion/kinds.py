"""Kinds of pods: those that ask for the same and may go to the same nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.search.shapes import Mask, PodShape
from kantopt.search.state import State


@dataclass(frozen=True, slots=True)
class PodKind:
    """Pods known that ask for the same and may go to the same nodes."""

    shape: PodShape
    admitted: bytes
    """Which nodes with GPUs admit them, a byte for each node."""
    pods: int
    gpus: int
    """Milli-GPU that one of them asks for."""


class Kinds:
    """All kinds of pods of the instance, running and pending."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._offers: Mask = np.asarray(state.gpu_weight @ state.offered > 0)
        self.everywhere = self._offers.tobytes()
        """What a kind is admitted to that may use all nodes with GPUs."""
        self._admitted: dict[frozenset[int], bytes] = {}
        pods: dict[tuple[int, bytes], int] = {}
        shapes: dict[int, PodShape] = {}
        for podset, shape in zip(state.instance.podsets, state.shape, strict=True):
            shapes[shape.index] = shape
            key = (shape.index, self.admit(podset.index))
            pods[key] = pods.get(key, 0) + podset.count
        self.all = [
            PodKind(shapes[i], admitted, count, int(shapes[i].demand @ state.gpu_weight))
            for (i, admitted), count in pods.items()
        ]

    def admit(self, s: int) -> bytes:
        """Which nodes with GPUs admit a pod set."""
        allowed = self._state.instance.podsets[s].allowed
        if allowed not in self._admitted:
            self._admitted[allowed] = (self._state.allowed(s) & self._offers).tobytes()
        return self._admitted[allowed]

    def masks(self, admitted: Sequence[bytes]) -> Mask:
        """Return a row of all nodes for each."""
        rows = [np.frombuffer(row, dtype=np.bool_) for row in admitted]
        return np.array(rows, dtype=np.bool_).reshape(len(rows), self._state.size)
