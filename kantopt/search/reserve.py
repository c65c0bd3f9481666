"""Nodes held back for pods that few of them would do for, while such pods are to be expected.

Those are pods of several GPUs, each of which wants one node that has them all, and pods that only a
pool of the nodes admits, such as those with GPUs of one model. Of the pods that will come the GPUs
still free are the measure: as many as fill them, mixed as the pods known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kantopt.search.shapes import Ints, Mask, PodShape
from kantopt.search.state import State

_RARE = 2
"""The number of arrivals varies by its square root, and so many times that is rare."""
_SURE = 4
"""The same of GPUs free in a pool, of which not all are of use: some are fragments."""
_AHEAD = 0.5
"""Of what pods that could go anywhere would take of a pool if they took as much of each, the share
that must be free for them, too. With less one pool is empty while others are not; with more there
is no choice left of where a pod fits best."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Pods known that ask for the same and may go to the same nodes."""

    shape: PodShape
    admitted: bytes
    """Which nodes with GPUs admit them, a byte for each node."""
    pods: int
    gpus: int
    """Milli-GPU that one of them asks for."""


class Reserve:
    """How many nodes and GPUs there are for pods with little choice, and how many such will come.

    A pool is a set of nodes with GPUs beyond which some pods may not go. Where there is none, as
    where every pod may go anywhere, only pods of several GPUs have nodes kept for them.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._offers: Mask = np.asarray(state.gpu_weight @ state.offered > 0)
        self._admitted: dict[frozenset[int], bytes] = {}
        self.kinds = self._known_kinds()
        """All kinds of pods of the instance, running and pending."""
        self._total = max(1, sum(kind.gpus * kind.pods for kind in self.kinds))
        self._seen = len(state.touched)
        self._left = state.gpus_left()
        self._begin_pools()
        self._begin_large()

    def _known_kinds(self) -> list[Kind]:
        state = self._state
        pods: dict[tuple[int, bytes], int] = {}
        shapes: dict[int, PodShape] = {}
        for podset, shape in zip(state.instance.podsets, state.shape, strict=True):
            shapes[shape.index] = shape
            key = (shape.index, self._admit(podset.index))
            pods[key] = pods.get(key, 0) + podset.count
        return [
            Kind(shapes[i], admitted, count, int(shapes[i].demand @ state.gpu_weight))
            for (i, admitted), count in pods.items()
        ]

    def _admit(self, s: int) -> bytes:
        """Which nodes with GPUs admit a pod set."""
        allowed = self._state.instance.podsets[s].allowed
        if allowed not in self._admitted:
            self._admitted[allowed] = (self._state.allowed(s) & self._offers).tobytes()
        return self._admitted[allowed]

    def _masks(self, admitted: Sequence[bytes]) -> Mask:
        rows = [np.frombuffer(row, dtype=np.bool_) for row in admitted]
        return np.array(rows, dtype=np.bool_).reshape(len(rows), self._state.size)

    # -- pods that only a pool admits

    def _begin_pools(self) -> None:
        """Find the pools, and for each milli-GPU to come how much of it each pool has to bear."""
        everywhere = self._offers.tobytes()
        kinds = [kind for kind in self.kinds if kind.gpus and any(kind.admitted)]
        admitted = list(dict.fromkeys(kind.admitted for kind in kinds))
        self._number = {each: p for p, each in enumerate(admitted)}
        self._in_pool = self._masks([each for each in admitted if each != everywhere])
        masks = self._masks(admitted).astype(np.float32)
        self._escapes: Mask = np.asarray(masks @ ~self._in_pool.T > 0)
        """Which pods, by the nodes that admit them, could also go elsewhere than to each pool."""
        of = [self._number[kind.admitted] for kind in kinds]
        confined = ~self._escapes[of].T
        gpus = np.array([kind.gpus for kind in kinds], dtype=np.float64)
        asked = gpus * np.array([kind.pods for kind in kinds], dtype=np.float64)
        anywhere = sum(kind.gpus * kind.pods for kind in kinds if kind.admitted == everywhere)
        offered = (self._state.gpu_weight @ self._state.offered).astype(np.float64)
        share = self._in_pool @ offered / max(1.0, offered.sum())
        self._demand = (confined @ asked + _AHEAD * share * anywhere) / self._total
        self._square = confined @ (gpus * asked) / self._total
        self._free: Ints = self._in_pool @ self._left

    def _tight(self) -> Mask:
        """Tell which pools have no more GPUs free than are to be expected of those confined."""
        left = int(self._left.sum())
        most = self._demand * left + _SURE * np.sqrt(self._square * left)
        return np.asarray(self._free <= most, dtype=np.bool_)

    # -- pods of several GPUs

    def _begin_large(self) -> None:
        large = [kind for kind in self.kinds if kind.gpus > 1000]
        shapes = {kind.shape.index: kind.shape for kind in large}
        self.shapes = list(shapes.values())
        """Shapes of pods of several GPUs."""
        position = {index: b for b, index in enumerate(shapes)}
        self._shape_of: Ints = np.array([position[k.shape.index] for k in large], dtype=np.int64)
        self._admits: Mask = self._masks([kind.admitted for kind in large]).T
        self._holds: Mask = np.zeros((self._state.size, len(shapes)), dtype=np.bool_)
        self._look(np.arange(self._state.size))
        able = self._able(np.arange(self._state.size))
        self._nodes: Ints = able.sum(axis=0)
        elsewhere = np.asarray(able.T.astype(np.float32) @ ~able > 0)
        somewhere = np.asarray(able.any(axis=0), dtype=np.bool_)
        self._takes: Mask = somewhere[:, None] & ~elsewhere
        """Which large pods can only take nodes that another could take: they are in its way."""
        self._large = {(kind.shape.index, kind.admitted): b for b, kind in enumerate(large)}
        pods = np.array([kind.pods for kind in large], dtype=np.int64)
        self._per_milli: NDArray[np.float64] = (pods @ self._takes) / self._total
        """Pods in the way of each large one, itself among them, for each milli-GPU asked for."""

    def _able(self, nodes: Ints) -> Mask:
        return np.asarray(self._holds[nodes][:, self._shape_of] & self._admits[nodes])

    def _look(self, nodes: Ints) -> None:
        state = self._state
        free, devices = state.free[:, nodes], state.devices[:, nodes]
        for b, shape in enumerate(self.shapes):
            self._holds[nodes, b] = _holds(shape, free, devices, state.device_class[nodes])

    def _look_again(self) -> None:
        changed = self._state.touched[self._seen :]
        self._seen += len(changed)
        if not changed:
            return
        nodes = np.unique(changed)
        left = self._state.gpu_weight @ self._state.left[:, nodes]
        self._free += self._in_pool[:, nodes] @ (left - self._left[nodes])
        self._left[nodes] = left
        before = self._able(nodes)
        self._look(nodes)
        self._nodes += self._able(nodes).sum(axis=0) - before.sum(axis=0)

    def _scarce(self) -> Mask:
        """Tell which large pods have no more nodes than are to be expected of them."""
        expected = self._per_milli * int(self._left.sum())
        most = expected + _RARE * np.sqrt(expected)
        return np.asarray(self._nodes <= most, dtype=np.bool_)

    # -- what is held back

    def lost(self, nodes: Ints, free: Ints, devices: Ints) -> Mask:
        """For which large shapes each node is too small, with what is then free, and was not."""
        self._look_again()
        lost = self._holds[nodes]
        could = np.flatnonzero(lost.any(axis=1))
        classes = self._state.device_class[nodes[could]]
        for b in np.flatnonzero(lost.any(axis=0)).tolist():
            lost[could, b] &= ~_holds(self.shapes[b], free[:, could], devices[:, could], classes)
        return lost

    def kept(self, s: int, lost: Mask) -> Mask:
        """Nodes that are held back from a pod set, which makes them too small for what is lost.

        A pod that is itself in the way of a large one, by its size, costs it nothing; nor is a pool
        held back from those confined to it.
        """
        self._look_again()
        admitted = self._admit(s)
        scarce = self._scarce()
        own = self._large.get((self._state.shape[s].index, admitted))
        if own is not None:
            scarce &= ~self._takes[own]
        some = np.flatnonzero(scarce)
        kept = (lost[:, self._shape_of[some]] & self._admits[:, some]).any(axis=1)
        number = self._number.get(admitted)
        if number is not None and len(self._in_pool) and self._state.instance.podsets[s].gpu_milli:
            kept |= self._in_pool[self._tight() & self._escapes[number]].any(axis=0)
        return np.asarray(kept, dtype=np.bool_)


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
