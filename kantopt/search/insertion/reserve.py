"""Littlewood's rule (1972): room costs what those with less choice are expected to lose by it.

They are pods of several GPUs, each of which wants one node that has them all, and pods that only a
pool of the nodes admits, such as those with GPUs of one model. To take room of theirs costs what
they ask for, times the chance that they will want the last of it; nodes that pods of several GPUs
are likely to want are held back. Of the pods that will come the GPUs still of use are the measure:
as many as fill them, mixed as the pods known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

from kantopt.search.insertion.holding import Holding
from kantopt.search.insertion.kinds import Kinds
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import State

Floats = NDArray[np.float64]

_STEPS = 50
"""Of the table of the normal distribution, for each standard deviation."""
_FAR = 5
"""Standard deviations beyond which nothing is expected."""
_TAIL = np.array([erfc(i / _STEPS / sqrt(2)) / 2 for i in range(-_FAR * _STEPS, _FAR * _STEPS + 1)])
_RARE = 2
"""The number of pods to come varies by its square root, and so many times that is rare."""
_HELD = 2**36
"""What a node costs for each milli-GPU of a pod of several GPUs that is likely to want it: others
take such nodes last. Those pods are few and large; by their chance alone too many are lost."""
_NEVER = 1 / 2000
"""Chances below cost less than half of one milli-GPU of a whole GPU."""


class Reserve:
    """What nodes and GPUs are worth to pods with little choice, and how many such will come.

    A pool is a set of nodes with GPUs beyond which some pods may not go. Where there is none, as
    where every pod may go anywhere, only pods of several GPUs have nodes held back for them.

    Parameters
    ----------
    useful
        Of nodes by number the milli-GPU free that pods to come are to make use of, in units of
        which ``scale`` are one.
    """

    def __init__(
        self, state: State, kinds: Kinds, useful: Callable[[Ints], Ints], scale: int
    ) -> None:
        self._state = state
        self._kinds = kinds
        self._useful_of = useful
        self._scale = scale
        self._total = max(1, sum(kind.gpus * kind.pods for kind in kinds.all))
        self._seen = len(state.touched)
        self._useful = useful(np.arange(state.size))
        self._begin_pools()
        self._begin_scarce()

    # -- pods that only a pool admits

    def _begin_pools(self) -> None:
        """Find the pools, and for each milli-GPU to come how much of it each pool has to bear."""
        everywhere = self._kinds.everywhere
        kinds = [kind for kind in self._kinds.all if kind.gpus and any(kind.admitted)]
        admitted = list(dict.fromkeys((everywhere, *(kind.admitted for kind in kinds))))
        self._number = {each: p for p, each in enumerate(admitted)}
        masks = self._kinds.masks(admitted)
        alike, cell = np.unique(masks, axis=1, return_inverse=True)
        self._admits_cell: Mask = alike
        self._cell: Ints = cell.reshape(-1)
        self._nodes_of = [np.flatnonzero(self._cell == c) for c in range(alike.shape[1])]
        """Cells are nodes which the same pods may use: what pods cost is told by cell."""
        in_pool = masks[1:]
        self._in_pool, self._pool_cells = in_pool, alike[1:]
        shared = in_pool.astype(np.float32) @ masks.T
        self._escapes: Mask = np.asarray(masks.sum(axis=1)[:, None] > shared.T)
        """Which pods, by the nodes that admit them, could also go elsewhere than to each pool."""
        offered = (self._state.gpu_weight @ self._state.offered).astype(np.float64)
        part = (in_pool * offered) @ masks.T / np.maximum(1.0, masks @ offered)
        """What comes to each pool of pods that take as much of each node that admits them."""
        of = [self._number[kind.admitted] for kind in kinds]
        gpus = np.array([kind.gpus for kind in kinds], dtype=np.float64)
        asked = gpus * np.array([kind.pods for kind in kinds], dtype=np.float64)
        self._demand: Floats = part[:, of] @ asked / self._total
        self._square: Floats = ~self._escapes[of].T @ (gpus * asked) / self._total
        """The variance of what those confined take, as of Poisson arrivals, likewise."""
        self._free: Ints = in_pool @ self._useful

    # -- pods that few nodes hold

    def _begin_scarce(self) -> None:
        everywhere, state = self._kinds.everywhere, self._state
        few = [
            kind
            for kind in self._kinds.all
            if kind.gpus > 1000
            or (kind.gpus and any(kind.admitted) and kind.admitted != everywhere)
        ]
        few.sort(key=lambda kind: kind.shape.index)
        shapes = {kind.shape.index: kind.shape for kind in few}
        self.shapes = list(shapes.values())
        """Shapes of pods of several GPUs and of those that only a pool admits."""
        position = {index: b for b, index in enumerate(shapes)}
        self._shape_of: Ints = np.array([position[k.shape.index] for k in few], dtype=np.int64)
        self._first: Ints = np.unique(self._shape_of, return_index=True)[1]
        self._few = {(kind.shape.index, kind.admitted): b for b, kind in enumerate(few)}
        self._holding = Holding(self.shapes, len(state.devices), len(state.instance.resources))
        self._admits: Mask = self._kinds.masks([kind.admitted for kind in few]).T
        self._holds: Mask = self._look(np.arange(state.size))
        able = self._able(np.arange(state.size))
        self._nodes: Ints = able.sum(axis=0)
        gpus: Ints = np.array([kind.gpus for kind in few], dtype=np.int64)
        self._worth: Ints = gpus * np.where(gpus > 1000, _HELD, self._scale)
        of = np.array([self._number.get(kind.admitted, -1) for kind in few], dtype=np.int64)
        self._few_cells: Mask = self._admits_cell[of] & (of >= 0)[:, None]
        elsewhere = np.asarray(able.T.astype(np.float32) @ ~able > 0)
        somewhere = np.asarray(able.any(axis=0), dtype=np.bool_)
        demands = np.array([kind.shape.demand for kind in few], dtype=np.int64)
        demands = demands.reshape(len(few), len(state.instance.resources))
        # Of several GPUs each takes a node, as it were; smaller ones share what a larger one wants.
        self._several: Mask = gpus > 1000
        larger = self._several[:, None] & self._several
        larger |= (demands[:, None, :] >= demands).all(axis=2)
        self._takes: Mask = somewhere[:, None] & ~elsewhere & larger
        """Which pods can only take nodes that another could take: they are in its way."""
        pods = np.array([kind.pods for kind in few], dtype=np.int64)
        self._per_milli: Floats = (pods @ self._takes) / self._total
        """Pods in the way of each, itself among them, for each milli-GPU asked for."""

    def _able(self, nodes: Ints) -> Mask:
        return np.asarray(self._holds[nodes][:, self._shape_of] & self._admits[nodes])

    def _look(self, nodes: Ints) -> Mask:
        state = self._state
        return self._holding.of(
            state.free[:, nodes], state.devices[:, nodes], state.device_class[nodes]
        )

    def _look_again(self) -> None:
        changed = self._state.touched[self._seen :]
        self._seen += len(changed)
        if not changed:
            return
        nodes = np.unique(changed)
        useful = self._useful_of(nodes)
        self._free += self._in_pool[:, nodes] @ (useful - self._useful[nodes])
        self._useful[nodes] = useful
        before = self._able(nodes)
        self._holds[nodes] = self._look(nodes)
        self._nodes += self._able(nodes).sum(axis=0) - before.sum(axis=0)

    # -- what room costs

    def lost(self, nodes: Ints, free: Ints, devices: Ints) -> Mask:
        """For which shapes each node is too small, with what is then free, and was not."""
        self._look_again()
        lost = self._holds[nodes]
        could = np.flatnonzero(lost.any(axis=1))
        classes = self._state.device_class[nodes[could]]
        lost[could] &= ~self._holding.of(free[:, could], devices[:, could], classes)
        return lost

    def cost(self, s: int, lost: Mask, more: Ints) -> Ints:
        """Milli-GPU times the scale that others are expected to lose by a pod on each node.

        A pod that is itself in the way of another, by its size, costs it nothing; nor does a pool
        cost those confined to it anything.

        Parameters
        ----------
        lost
            Shapes for which each node is then too small.
        more
            What is then of no more use on each node, beside what the pod takes.
        """
        self._look_again()
        admitted = self._kinds.admit(s)
        free = int(self._state.gpus_left().sum())
        left = int(self._useful.sum()) / self._scale
        cost: Floats = np.zeros(self._state.size)
        expected: Floats = self._per_milli * np.where(self._several, free, left)
        room = self._nodes.astype(np.float64) - 0.5
        wanted = _chance(room, expected, expected)
        scarce = self._nodes <= expected + _RARE * np.sqrt(expected)
        wanted[self._several] = scarce[self._several]
        own = self._few.get((self._state.shape[s].index, admitted))
        if own is not None:
            wanted[self._takes[own]] = 0
        if (wanted > _NEVER).any():
            by_kind = self._few_cells.T * (wanted * self._worth)
            by_shape = np.maximum.reduceat(by_kind, self._first, axis=1)
            by_shape *= (by_shape > _NEVER * self._scale * 1000).any(axis=0)
            for nodes, costs in zip(self._nodes_of, by_shape, strict=True):
                if len(some := np.flatnonzero(costs)):
                    cost[nodes] = (lost[np.ix_(nodes, some)] * costs[some]).max(axis=1)
        if len(self._in_pool):
            mean, variance = self._demand * left, self._square * left
            wanted = _chance(self._free / self._scale, mean, variance)
            number = self._number.get(admitted)
            if number is not None:
                wanted = wanted * self._escapes[number]
            by_cell = (self._pool_cells * wanted[:, None]).max(axis=0)
            gpus = self._scale * self._state.instance.podsets[s].gpu_milli
            cost = cost + by_cell[self._cell] * (gpus + more)
        return cost.astype(np.int64)


def _chance(room: Floats, mean: Floats, variance: Floats) -> Floats:
    """Chance that more than the room is asked for, as of a normal distribution."""
    far = np.full(len(room), float(_FAR))
    off = np.divide(room - mean, np.sqrt(variance), out=far, where=variance > 0)
    step = np.rint(np.clip(off, -_FAR, _FAR) * _STEPS).astype(np.int64)
    return np.asarray(_TAIL[step + _FAR * _STEPS])
