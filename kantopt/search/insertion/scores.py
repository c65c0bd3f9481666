"""How good each node is for one more pod of a shape, by strategy; higher is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kantopt.search.insertion.lookahead import Lookahead
from kantopt.search.insertion.stranded import Stranded
from kantopt.search.shapes import Ints, Mask, PodShape
from kantopt.search.state import State, best_devices, rooms
from kantopt.search.strategy import Strategy

WORST = np.iinfo(np.int64).min
FEW_NODES = 64
"""Nodes that are scored anew whenever they are asked for; of more the scores are remembered."""
_WHOLE = 2**44
"""What E-Binpack takes off the score of a node whose GPUs are all free."""
_PRECISE = 2**50
"""Amounts above are halved until a hundredfold of them fits in 64 bits."""


@dataclass(slots=True)
class _Known:
    """Scores of one shape and how much of the state's history they include."""

    fits: Mask
    score: Ints
    lost: Mask
    """For which pods with little choice each node would then be too small."""
    seen: int


class Scores:
    """Scores of a strategy, remembered per shape and renewed only for nodes that changed."""

    def __init__(
        self, state: State, strategy: Strategy, over: Callable[[], bool] = lambda: False
    ) -> None:
        self.state = state
        self.strategy = strategy
        self.over = over
        """Whether the time is up: what places many pods one by one looks at it now and then."""
        self._gpus = state.gpu_weight @ state.offered
        self._known: dict[int, _Known] = {}
        names = state.instance.resources
        self._pods = names.index("pods") if "pods" in names else -1
        self._kube = tuple(names.index(r) if r in names else None for r in ("cpu", "memory"))
        self._largest = [int(row.max(initial=0)) for row in state.offered]
        self._shift = [max(0, (most // _PRECISE).bit_length()) for most in self._largest]
        self._stranded = Stranded(state, state.instance.mix)
        self._mix_pods = max(1, sum(shape.weight for shape in state.instance.mix))
        self._lookahead = Lookahead(state) if strategy is Strategy.LOOKAHEAD else None

    @property
    def fills_up(self) -> bool:
        """Whether the best node stays the best until it is full."""
        return self.strategy in (
            Strategy.BEST_FIT,
            Strategy.REVERSE_TRIM,
            Strategy.MOST_ALLOCATED,
            Strategy.E_BINPACK,
        )

    def of(self, s: int) -> tuple[Mask, Ints]:
        """Return which nodes hold one more pod of a pod set, and the scores of those."""
        known = self._renewed(self.state.shape[s])
        return known.fits, self._less_cost(known, s)

    def _renewed(self, shape: PodShape) -> _Known:
        state = self.state
        end = len(state.touched)
        known = self._known.get(shape.index)
        if known is None:
            few = 0 if self._lookahead is None else len(self._lookahead.reserve.shapes)
            known = _Known(
                np.zeros(state.size, dtype=np.bool_),
                np.full(state.size, WORST),
                np.zeros((state.size, few), dtype=np.bool_),
                end,
            )
            self._known[shape.index] = known
            nodes = np.arange(state.size)
        elif known.seen == end:
            return known
        else:
            nodes = state.changed_since(known.seen)
        known.seen = end
        fits = rooms(state, shape, 1, nodes) > 0
        known.fits[nodes] = fits
        known.score[nodes[~fits]] = WORST
        if fits.any():
            known.score[nodes[fits]] = self.score(shape, nodes[fits])
            if self._lookahead is not None:
                after = self._lookahead.placed(shape, nodes[fits])
                reserve = self._lookahead.reserve
                known.lost[nodes[fits]] = reserve.lost(nodes[fits], *after)
        return known

    def _less_cost(self, known: _Known, s: int) -> Ints:
        """Scores less what pods with less choice are expected to lose on each node."""
        if self._lookahead is None:
            return known.score
        more = np.where(known.fits, -known.score, 0)
        cost = self._lookahead.reserve.cost(s, known.lost, more)
        return np.where(known.fits, known.score - cost, known.score)

    def score(self, shape: PodShape, nodes: Ints) -> Ints:
        """Score nodes on which one more pod of a shape fits."""
        match self.strategy:
            case Strategy.BEST_FIT | Strategy.REVERSE_TRIM:
                return -self._leftover(shape, nodes)
            case Strategy.MOST_ALLOCATED:
                return self._allocated(shape, nodes)
            case Strategy.LEAST_ALLOCATED | Strategy.SPREAD:
                return -self._allocated(shape, nodes)
            case Strategy.KUBE_DEFAULT:
                return self._kube_base(shape, nodes)
            case Strategy.E_BINPACK | Strategy.E_SPREAD:
                return self._kept_whole(shape, nodes)
            case Strategy.FGD:
                more = self._stranded.increase(shape, nodes) / (1000 * self._mix_pods)
                # Hundredths of a sigmoid, as the published runs count: without such steps FGD
                # chases crumbs, and less is allocated in the end.
                return np.asarray(100 / (1 + np.exp(more)), dtype=np.int64)
            case Strategy.LOOKAHEAD:
                assert self._lookahead is not None
                return -self._lookahead.increase(shape, nodes)

    def among(self, s: int, nodes: Ints) -> Ints:
        """Return the scores of some nodes, all with room for one more pod of a pod set."""
        if len(nodes) > FEW_NODES:
            return self.of(s)[1][nodes]
        return self.score(self.state.shape[s], nodes)

    def devices(self, s: int, n: int) -> tuple[int, ...] | None:
        """Return the devices that one more pod takes on a node; ``None`` if they do not suffice."""
        measured = self._stranded if self.strategy is Strategy.FGD else self._lookahead
        if measured is not None:
            if not self._renewed(self.state.shape[s]).fits[n]:
                return None
            return measured.best_devices(s, n)
        return best_devices(self.state, s, n)

    def _counted(self, shape: PodShape) -> list[int]:
        asked = [r for r, amount in enumerate(shape.demand) if amount and r != self._pods]
        asked = [r for r in asked if self._largest[r]]
        return asked or [r for r in self._kube if r is not None and self._largest[r]]

    def _allocated(self, shape: PodShape, nodes: Ints) -> Ints:
        """Mean over the resources asked for of the percentage taken, the pod included."""
        counted = self._counted(shape)
        total: Ints = np.zeros(len(nodes), dtype=np.int64)
        for r in counted:
            offered = self.state.offered[r, nodes] >> self._shift[r]
            used = offered - ((self.state.left[r, nodes] - shape.demand[r]) >> self._shift[r])
            total += used * 100 // np.maximum(offered, 1)
        return total // max(1, len(counted))

    def _kept_whole(self, shape: PodShape, nodes: Ints) -> Ints:
        """Kant-style: nodes in use first, then where fewest GPUs are left, then the fullest."""
        gpus = self.state.gpus_left(nodes)
        whole = (gpus > 0) & (gpus == self._gpus[nodes])
        allocated = self._allocated(shape, nodes)
        return np.asarray(allocated - 128 * gpus - _WHOLE * whole, dtype=np.int64)

    def _leftover(self, shape: PodShape, nodes: Ints) -> Ints:
        """Sum over all resources of what is left, in millionths of the largest node's."""
        total: Ints = np.zeros(len(nodes), dtype=np.int64)
        for r, largest in enumerate(self._largest):
            if largest and r != self._pods:
                shift = max(0, largest.bit_length() - 40)
                left = (self.state.left[r, nodes] - shape.demand[r]) >> shift
                total += left * 1_000_000 // max(1, largest >> shift)
        return total

    def _kube_base(self, shape: PodShape, nodes: Ints) -> Ints:
        """LeastAllocated and BalancedAllocation of kube-scheduler for cpu and memory."""
        least: Ints = np.zeros(len(nodes), dtype=np.int64)
        fractions = []
        for r in self._kube:
            if r is None:
                fractions.append(np.zeros(len(nodes)))
                continue
            offered = self.state.offered[r, nodes] >> self._shift[r]
            left = (self.state.left[r, nodes] - shape.demand[r]) >> self._shift[r]
            least += np.where(offered > 0, np.maximum(left, 0) * 100 // np.maximum(offered, 1), 0)
            fractions.append(np.minimum((offered - left) / np.maximum(offered, 1), 1.0))
        balanced = (1 - np.abs(fractions[0] - fractions[1]) / 2) * 100
        return np.asarray(least // 2 + balanced.astype(np.int64), dtype=np.int64)
