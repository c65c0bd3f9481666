"""Steepest descent: single moves by what they gain, where a metric is a sum over nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.counted import counted
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.insertion.increase import take_least
from kantopt.search.insertion.stranded import Stranded
from kantopt.search.relocation.movers import Movers
from kantopt.search.shapes import Ints, Mask, PodShape, mask_of
from kantopt.search.state import UNLIMITED, State, rooms

GAINED = (
    Metric.STRANDED_GPUS,
    Metric.FRAGMENT_RATE,
    Metric.FRAGMENTED_NODES,
    Metric.BALANCE,
)
"""Metrics that are sums over nodes."""
NEVER = 2**60
"""Stands for what a pod that may not leave, or not arrive, would cost."""


@dataclass(frozen=True, slots=True)
class Free:
    """What some nodes have free, a column each: of the node, of its devices, of both together."""

    nodes: Ints
    node: Ints
    devices: Ints
    left: Ints


Measure = Callable[[Free], Ints]


@dataclass(slots=True)
class MovableKind:
    """Pods that are alike, and what it costs that one leaves a spot or arrives on a node."""

    shape: PodShape
    allowed: Mask
    sources: list[tuple[int, Spot]] = field(default_factory=list)
    """A pod set and a spot of it that hold such a pod; one of those alike on the spot."""
    leaving: list[int] = field(default_factory=list)
    arriving: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


_MOST_CELLS = 200_000_000
"""Most kinds of pods, times nodes, times shapes of a mix: about five seconds of work."""


class Gains:
    """Moves the pod that lowers a tier most, again and again.

    Pods that topology, neighbours or spreads tie are left where they are. So are, where no two pods
    are alike, the rarest: what every kind gains on every node is worked out in advance.
    """

    def __init__(self, state: State, tier: Tier, over: Callable[[], bool]) -> None:
        self.state, self.movers = state, Movers(state)
        self._measure = _of_counted(state, tier, _measure_of(state, tier))
        kinds: dict[Hashable, MovableKind] = {}
        for podset in state.instance.podsets:
            s = podset.index
            if not (self.movers.movable[s] and self.movers.untied(s)):
                continue
            shape = state.shape[s]
            key = (shape.index, podset.allowed)
            if key not in kinds:
                kinds[key] = MovableKind(shape, state.allowed(s))
            held = state.instance.held
            kinds[key].sources += [
                (s, spot) for spot in sorted(state.spots[s]) if spot.node not in held
            ]
        self._kinds: list[MovableKind] = []
        everywhere = np.arange(state.size)
        most = max(1, _MOST_CELLS // (state.size * max(1, len(tier.mix))))
        chosen = list(kinds.values())
        if len(chosen) > most:
            chosen = sorted(chosen, key=lambda kind: -len(kind.sources))[:most]
        for kind in chosen:
            if over():
                break
            kind.arriving = self._arriving(kind, everywhere)
            kind.leaving = self._leaving(kind, range(len(kind.sources)))
            self._kinds.append(kind)

    def run(self, over: Callable[[], bool], wanted: int | None) -> Placement:
        """Move pods until nothing gains, or the tier has fallen by ``wanted``."""
        gained = 0
        while not over() and (wanted is None or gained < wanted):
            left = self.movers.left()
            if left is not None and left <= 0:
                break
            best = self._best()
            if best is None:
                break
            change, kind, i, n = best
            s, source = kind.sources[i]
            if not self.movers.move(s, source, n):
                kind.arriving[n] = kind.leaving[i] = NEVER  # a limit stands in the way
                continue
            gained -= change
            self._renew(kind, i, s, source.node, n)
        return self.state.placement()

    def _best(self) -> tuple[int, MovableKind, int, int] | None:
        """Change, kind, source and target of the move that lowers the tier most, if any does."""
        best: tuple[int, MovableKind, int, int] | None = None
        for kind in self._kinds:
            if not kind.sources:
                continue
            i = min(range(len(kind.sources)), key=kind.leaving.__getitem__)
            arriving = kind.arriving
            n = int(arriving.argmin())
            if n == kind.sources[i][1].node:
                arriving = arriving.copy()
                arriving[n] = NEVER
                n = int(arriving.argmin())
            change = kind.leaving[i] + int(arriving[n])
            if change < 0 and (best is None or change < best[0]):
                best = change, kind, i, n
        return best

    def _renew(self, kind: MovableKind, i: int, s: int, source: int, target: int) -> None:
        """Work out anew what concerns two nodes; a pod that has moved stays where it is then."""
        if not self.state.spots[s].get(kind.sources[i][1]):
            del kind.sources[i], kind.leaving[i]
        nodes = np.array([source, target], dtype=np.int64)
        for each in self._kinds:
            each.arriving[nodes] = self._arriving(each, nodes)
            concerned = [
                k for k, (_, spot) in enumerate(each.sources) if spot.node in (source, target)
            ]
            for k, cost in zip(concerned, self._leaving(each, concerned), strict=True):
                each.leaving[k] = cost

    def _free(self, nodes: Ints) -> Free:
        state = self.state
        return Free(nodes, state.free[:, nodes], state.devices[:, nodes], state.left[:, nodes])

    def _arriving(self, kind: MovableKind, nodes: Ints) -> Ints:
        state, shape = self.state, kind.shape
        found = np.full(len(nodes), NEVER, dtype=np.int64)
        fits = kind.allowed[nodes] & (rooms(state, shape, 1, nodes) > 0)
        if not fits.any():
            return found
        free = self._free(nodes[fits])
        devices = free.devices.copy()
        for need in shape.needs:
            take_least(devices, state.device_class[free.nodes], need)
        after = Free(
            free.nodes,
            free.node - shape.request[:, None],
            devices,
            free.left - shape.demand[:, None],
        )
        found[fits] = self._measure(after) - self._measure(free)
        return found

    def _leaving(self, kind: MovableKind, which: Sequence[int]) -> list[int]:
        if not which:
            return []
        state, shape = self.state, kind.shape
        sources = [kind.sources[i] for i in which]
        free = self._free(np.array([spot.node for _, spot in sources], dtype=np.int64))
        devices = free.devices.copy()
        for column, source in enumerate(sources):
            for row, d, amount in state.device_asks(*source):
                devices[row, column, d] += amount
        after = Free(
            free.nodes,
            free.node + shape.request[:, None],
            devices,
            free.left + shape.demand[:, None],
        )
        costs: list[int] = (self._measure(after) - self._measure(free)).tolist()
        return costs


def _of_counted(state: State, tier: Tier, measure: Measure) -> Measure:
    """Return what a metric counts of each node, 0 of those that it does not look at."""
    nodes = counted(state.instance, tier)
    if len(nodes) == state.size:
        return measure
    mask = mask_of(state.size, nodes)
    return lambda free: np.asarray(measure(free) * mask[free.nodes], dtype=np.int64)


def _measure_of(state: State, tier: Tier) -> Measure:
    """Return what a metric counts of each node, up to a constant."""
    if tier.metric is Metric.STRANDED_GPUS:
        stranded = Stranded(state, tier.mix)
        return lambda free: stranded.measure(
            free.node, free.devices, state.device_class[free.nodes]
        )
    if tier.metric is Metric.FRAGMENTED_NODES:
        offered = state.gpu_weight @ state.offered

        def partly(free: Free) -> Ints:
            left, all_of = state.gpu_weight @ free.left, offered[free.nodes]
            return np.asarray((left > 0) & (left < all_of), dtype=np.int64)

        return partly
    if tier.metric is Metric.BALANCE:
        rows = list(tier.resources)
        limits = state.capacity[rows].astype(np.float64)
        limits[(limits <= 0) | (limits >= UNLIMITED)] = np.inf  # of nothing there is no share

        def loaded(free: Free) -> Ints:
            # Nearly exact, for a search: what is beyond 53 bits is cut off.
            of = limits[:, free.nodes]
            shares = 1000 - 1000 * free.node[rows] / of - tier.size
            shares[~np.isfinite(of)] = 0
            return np.asarray(np.ceil(np.maximum(shares, 0) - 1e-9).sum(axis=0), dtype=np.int64)

        return loaded
    r, size = tier.resource, tier.size
    assert r is not None
    if tier.device_class is None:
        limited = state.capacity[r] < UNLIMITED

        def of_nodes(free: Free) -> Ints:
            slots = np.maximum(free.node[r], 0) // size
            return np.where(limited[free.nodes], -slots, 0)

        return of_nodes
    of_class = state.classes.index(tier.device_class) if tier.device_class in state.classes else -2
    row = state.device_resources.index(r) if r in state.device_resources else None

    def of_devices(free: Free) -> Ints:
        if row is None:
            return np.zeros(len(free.nodes), dtype=np.int64)
        ours = state.device_class[free.nodes] == of_class
        slots = np.where(ours, np.maximum(free.devices[row], 0), 0) // size
        return np.asarray(-slots.sum(axis=1), dtype=np.int64)

    return of_devices
