"""A placement in the making: loads as arrays, changed pod by pod and undone step by step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.schema.quantity import gpu_milli
from kantopt.search.counts.neighbours import Neighbours
from kantopt.search.counts.pace import Pace
from kantopt.search.counts.quotas import Quotas
from kantopt.search.shapes import Ints, Mask, PodShape, mask_of, shapes_of
from kantopt.search.touched import Touched

UNLIMITED = 2**61
"""Stands for no limit in arrays; twice the largest sum of amounts is still below it plus that."""

_ALL = slice(None)
_K = TypeVar("_K")

Change = tuple[int, Spot, int]
"""Pod set, spot and pods that came (or, if negative, went)."""


def capacity_of(instance: Instance) -> Ints:
    """Return what nodes offer, a row per resource and a column per node."""
    nodes = instance.nodes
    rows = [[UNLIMITED if c is None else c for c in node.capacity] for node in nodes]
    return np.array(rows, np.int64).reshape(len(nodes), len(instance.resources)).T.copy()


class State:
    """Where pods are while a placement is built, the snapshot's at first, and what is free then.

    ``free`` has a row per resource and a column per node; ``devices`` an array of nodes x device
    indices per resource that devices offer, -1 where there is no such device.
    """

    def __init__(self, instance: Instance, placement: Placement | None = None) -> None:
        self.instance = instance
        nodes, resources = instance.nodes, instance.resources
        self.capacity = capacity_of(instance)
        self.free = self.capacity.copy()
        if not instance.on(Rule.CAPACITY):
            self.free[:] = UNLIMITED
        self._build_devices()
        self.offered: Ints = np.where(self.capacity >= UNLIMITED, 0, self.capacity)
        for row, r in enumerate(self.device_resources):
            self.offered[r] += np.where(self.device_class >= 0, self.devices[row], 0).sum(axis=1)
        self.left = self.offered.copy()
        """What is left of node and devices together, for scores."""
        self.gpu_weight: Ints = np.array([gpu_milli(name, 1) for name in resources])
        self.quotas = Quotas(instance)
        self.neighbours = Neighbours(instance)
        self.pace = Pace(instance)
        self.shapes, self.shape = shapes_of(instance, self.classes, self.device_resources)
        self._requests = self.shapes.table("request")
        self._demands = self.shapes.table("demand")
        self.spots: list[dict[Spot, int]] = [{} for _ in instance.podsets]
        self.placed = [0] * len(instance.podsets)
        self._stood = [sum(podset.current.values()) for podset in instance.podsets]
        self.bound_on: dict[int, dict[tuple[int, Spot], int]] = {}
        """New pods by node."""
        self.moved_on: dict[int, dict[tuple[int, Spot], int]] = {}
        """Running pods that came from elsewhere, by node."""
        self.journal: list[Change] = []
        self.touched = Touched(len(nodes))
        """Nodes in the order in which they changed, for those who remember scores."""
        self.shifted: list[tuple[int, Spot]] = []
        """Running pods that came or went, in that order, for those who remember evictions."""
        self._allowed: dict[frozenset[int], Mask] = {}
        self._closed: Mask = np.zeros(len(nodes), dtype=np.bool_)
        self._standing: set[int] = set()
        self._start(instance.current if placement is None else placement)

    def _start(self, placement: Placement) -> None:
        """Place all pods of a placement at once."""
        for podset, spots in zip(self.instance.podsets, placement.podsets, strict=True):
            s = podset.index
            if spots != podset.current:
                for spot, pods in podset.current.items():
                    self.pace.count(s, spot.node, 0, max(0, pods - spots.get(spot, 0)))
            if not spots:
                continue
            self.spots[s] = dict(spots)
            self.placed[s] = sum(spots.values())
            new = max(0, self.placed[s] - self._stood[s])
            queue = self.instance.jobs[podset.job].queue
            self.quotas.add(queue, podset.demand, self.placed[s], new)
            if self.neighbours.concern(s):
                for spot, pods in spots.items():
                    self._meet(s, spot.node, pods, max(0, pods - podset.current.get(spot, 0)))
            for spot, pods in spots.items():
                if not podset.running:
                    self.bound_on.setdefault(spot.node, {})[s, spot] = pods
                elif more := max(0, pods - podset.current.get(spot, 0)):
                    self.moved_on.setdefault(spot.node, {})[s, spot] = more
                    self.pace.count(s, spot.node, more, 0)
        taken = [
            (s, spot, -k) for s, spots in enumerate(placement.podsets) for spot, k in spots.items()
        ]
        self.give(taken, self.free, self.devices)
        self._add(taken, self._demands, self.left)

    def give(self, pods: Iterable[Change], free: Ints, devices: Ints) -> None:
        """Add what some pods take of nodes and devices to arrays shaped like the state's own."""
        pods = list(pods)
        self._add(pods, self._requests, free)
        for s, spot, k in pods:
            self._give_devices(s, spot, k, devices[:, spot.node])

    def given(self, n: int, pods: Iterable[Change]) -> tuple[Ints, Ints]:
        """Return what some pods take of one node, by resource, and of its devices, by both."""
        free = [0] * len(self.free)
        devices = np.zeros_like(self.devices[:, n])
        for s, spot, k in pods:
            for r, amount in self.shape[s].asks:
                free[r] += k * amount
            if spot.devices:
                self._give_devices(s, spot, k, devices)
        return np.array(free, dtype=np.int64), devices

    def _add(self, pods: Sequence[Change], amounts: Ints, total: Ints) -> None:
        """Add what some pods take by shape to rows of resources with a column per node."""
        nodes = np.array([spot.node for _, spot, _ in pods], dtype=np.int64)
        shapes = np.array([self.shape[s].index for s, _, _ in pods], dtype=np.int64)
        counts = np.array([k for _, _, k in pods], dtype=np.int64)
        for r in np.flatnonzero(amounts.any(axis=0)).tolist():
            np.add.at(total[r], nodes, counts * amounts[shapes, r])

    def _give_devices(self, s: int, spot: Spot, pods: int, devices: Ints) -> None:
        """Add what some pods take of their node's devices."""
        for row, d, amount in self.device_asks(s, spot):
            devices[row, d] += pods * amount

    def device_asks(self, s: int, spot: Spot) -> Iterator[tuple[int, int, int]]:
        """What a pod takes of its devices: row of the device resource, device and amount."""
        classes = self.device_class[spot.node]
        for need in self.shape[s].needs:
            for d in spot.devices:
                if d < len(classes) and classes[d] == need.device_class:
                    for row, amount in need.ask:
                        yield row, d, amount

    def _build_devices(self) -> None:
        nodes = self.instance.nodes
        self.classes = tuple(sorted({d.device_class for node in nodes for d in node.devices}))
        offered = {r for node in nodes for d in node.devices for r, c in enumerate(d.capacity) if c}
        asked = {
            r
            for podset in self.instance.podsets
            for need in podset.devices
            for r, amount in enumerate(need.request)
            if amount
        }
        self.device_resources = tuple(sorted(offered | asked))
        most = max((len(node.devices) for node in nodes), default=0)
        self.device_class: Ints = np.full((len(nodes), most), -1, dtype=np.int64)
        self.devices: Ints = np.full((len(self.device_resources), len(nodes), most), -1)
        index = {name: c for c, name in enumerate(self.classes)}
        for node in nodes:
            for d, device in enumerate(node.devices):
                self.device_class[node.index, d] = index[device.device_class]
                for row, r in enumerate(self.device_resources):
                    self.devices[row, node.index, d] = device.capacity[r]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.instance.nodes)

    def allowed(self, s: int) -> Mask:
        """Nodes that selector, affinity and tolerations of a pod set admit, and that are open."""
        if not self.instance.on(Rule.ELIGIBILITY):
            return ~self._closed
        nodes = self.instance.podsets[s].allowed
        if nodes not in self._allowed:
            self._allowed[nodes] = mask_of(self.size, nodes) & ~self._closed
        return self._allowed[nodes]

    def close(self, n: int, closed: bool) -> None:
        """Let no pod come to a node any more, as when it has failed, or let pods come again."""
        self._closed[n] = closed
        self._allowed.clear()
        self.touched.append(n)

    def settle(self, podsets: Iterable[int]) -> None:
        """Take what has come as standing from now on, as a snapshot taken now would have it.

        What pods must find where they arrive (spreads, affinities) they have found.
        """
        for s in podsets:
            self._stood[s] = self.placed[s]
            if self.neighbours.concern(s):
                current = self.instance.podsets[s].current
                for spot, pods in self.spots[s].items() if s not in self._standing else ():
                    arrived = max(0, pods - current.get(spot, 0))
                    self._meet(s, spot.node, 0, -arrived)
                if self.spots[s]:
                    self._standing.add(s)
                else:
                    self._standing.discard(s)
        self.quotas.settle()
        self.journal.clear()
        self.touched.forget()

    def add(self, s: int, spot: Spot, pods: int) -> None:
        """Place pods on a spot; a negative number takes them away. Can be undone."""
        self._apply(s, spot, pods)
        self.journal.append((s, spot, pods))

    def go_to(self, placement: Placement) -> None:
        """Change, step by step, what is elsewhere in a placement than it is now.

        Unlike a state that starts there this tells those who watch it who is gone.
        """
        for s, (now, then) in enumerate(zip(self.spots, placement.podsets, strict=True)):
            if now != then:
                for spot in sorted({*now, *then}):
                    if change := then.get(spot, 0) - now.get(spot, 0):
                        self.add(s, spot, change)

    def admitted(self, s: int, pods: int) -> int:
        """Pods of a pod set, at most so many, that its queue still admits."""
        podset, queue = self.instance.podsets[s], self.instance.job_of(s).queue
        away = self._stood[s] - self.placed[s]
        if away > 0:
            return self.quotas.room(queue, podset.demand, min(pods, away), back=True)
        return self.quotas.room(queue, podset.demand, pods)

    def admits(self, j: int, wants: Collection[tuple[int, int]]) -> bool:
        """Whether a job's queue admits pods of its pod sets all together."""
        back = all(self.placed[s] + pods <= self._stood[s] for s, pods in wants)
        return self.quotas.allows(self.instance.jobs[j].queue, self.demanded(wants), back=back)

    def demanded(self, wants: Collection[tuple[int, int]]) -> list[int]:
        """Add up what pods ask for, by resource."""
        podsets, resources = self.instance.podsets, range(len(self.instance.resources))
        return [sum(pods * podsets[s].demand[r] for s, pods in wants) for r in resources]

    def mark(self) -> int:
        """Return a point to come back to with :meth:`undo`."""
        return len(self.journal)

    def undo(self, mark: int) -> None:
        """Take back all changes since a mark."""
        while len(self.journal) > mark:
            s, spot, pods = self.journal.pop()
            self._apply(s, spot, -pods)

    def _apply(self, s: int, spot: Spot, pods: int) -> None:
        podset, shape, n = self.instance.podsets[s], self.shape[s], spot.node
        free, left = self.free, self.left
        for r, amount in shape.asks:
            free[r, n] -= pods * amount
        for r, amount in shape.takes:
            left[r, n] -= pods * amount
        if spot.devices:
            self._give_devices(s, spot, -pods, self.devices[:, n])
        queue, beyond = self.instance.jobs[podset.job].queue, self.placed[s] - self._stood[s]
        new = max(0, beyond + pods) - max(0, beyond)
        self.quotas.add(queue, podset.demand, pods, new)
        home, before = podset.current.get(spot, 0), self.spots[s].get(spot, 0)
        more = max(0, before + pods - home) - max(0, before - home)
        if self.neighbours.concern(s):
            self._meet(s, n, pods, 0 if s in self._standing else more)
        if podset.running:
            if more:
                _count(self.moved_on.setdefault(n, {}), (s, spot), more)
            self.pace.count(s, n, more, more - pods)
        _count(self.spots[s], spot, pods)
        self.placed[s] += pods
        if podset.running:
            self.shifted.append((s, spot))
        else:
            _count(self.bound_on.setdefault(n, {}), (s, spot), pods)
        self.touched.append(n)

    def _meet(self, s: int, n: int, pods: int, arrived: int) -> None:
        """Let neighbours count pods on a node, so many of them as having arrived."""
        if arrived:
            self.neighbours.add(s, n, arrived, arrival=True)
        if pods - arrived:
            self.neighbours.add(s, n, pods - arrived, arrival=False)

    def changed_since(self, seen: int) -> Ints:
        """Return the nodes that changed since ``touched`` was so long; all, if that is shorter."""
        if len(self.touched) - seen >= self.size:
            return np.arange(self.size)
        return np.array(sorted(set(self.touched[seen:])), dtype=np.int64)

    def has_room(self, s: int, spot: Spot) -> bool:
        """Whether one pod fits on a spot beside what is there now."""
        shape, n = self.shape[s], spot.node
        if any(self.free[r, n] < amount for r, amount in shape.asks):
            return False
        return all(
            self.devices[row, n, d] >= amount for row, d, amount in self.device_asks(s, spot)
        )

    def role_placed(self, j: int, role: int) -> int:
        """Pods of a role that are placed, running and newly bound."""
        return sum(self.placed[s] for s in self.instance.jobs[j].roles[role].podsets)

    def gpus_left(self, nodes: Ints | slice = _ALL) -> Ints:
        """Milli-GPU left on each of some nodes, by default on all."""
        kinds = self.gpu_weight.nonzero()[0]  # one of many resources
        left = self.left[kinds] if nodes is _ALL else self.left[kinds[:, None], nodes]
        return np.asarray(self.gpu_weight[kinds] @ left, dtype=np.int64)

    def placement(self) -> Placement:
        """Return the placement as it stands; pod sets that did not change keep their spots."""
        return Placement(
            tuple(
                podset.current if spots == podset.current else dict(spots)
                for podset, spots in zip(self.instance.podsets, self.spots, strict=True)
            )
        )


def _count(counts: dict[_K, int], key: _K, pods: int) -> None:
    value = counts.get(key, 0) + pods
    if value:
        counts[key] = value
    else:
        counts.pop(key, None)


def rooms(state: State, shape: PodShape, most: int, nodes: Ints | slice = slice(None)) -> Ints:
    """Pods of a shape that each of some nodes holds beside what is there, at most ``most``."""
    count = state.size if isinstance(nodes, slice) else len(nodes)
    room: Ints = np.full(count, most, dtype=np.int64)
    for r, amount in shape.asks:
        free = state.free[r, nodes]
        if most == 1:
            room[free < amount] = 0
        else:
            np.minimum(room, free // amount, out=room)
    for need in shape.needs:
        np.minimum(
            room,
            _groups(_slots(state, need.device_class, need.ask, most, nodes), need.count, most),
            out=room,
        )
    return np.maximum(room, 0, out=room)


def _slots(
    state: State,
    device_class: int,
    ask: tuple[tuple[int, int], ...],
    most: int,
    nodes: Ints | slice,
) -> Ints:
    """Pods that each device holds, were it alone."""
    slots: Ints = np.where(state.device_class[nodes] == device_class, most, 0)
    for row, amount in ask:
        free = state.devices[row, nodes]
        if most == 1:
            slots[free < amount] = 0
        else:
            np.minimum(slots, free // amount, out=slots)
    np.maximum(slots, 0, out=slots)
    return slots


def _groups(slots: Ints, k: int, most: int) -> Ints:
    """Most groups of ``k`` distinct devices; see :func:`kantopt.problem.node_room.node_room`."""
    if k == 1:
        return np.asarray(np.minimum(slots.sum(axis=1), most), dtype=np.int64)
    low = np.zeros(len(slots), dtype=np.int64)
    high = np.minimum(slots.sum(axis=1) // k, most)
    while bool((low < high).any()):
        middle = (low + high + 1) // 2
        enough = np.minimum(slots, middle[:, None]).sum(axis=1) >= k * middle
        low = np.where(enough, middle, low)
        high = np.where(enough, high, middle - 1)
    return low


def best_devices(state: State, s: int, n: int) -> tuple[int, ...] | None:
    """Return the devices of a node with least left that take one pod; ``None`` if too few do."""
    chosen: list[int] = []
    classes = state.device_class[n].tolist()
    for need in state.shape[s].needs:
        able = [(0, d) for d, c in enumerate(classes) if c == need.device_class]
        for row, amount in need.ask:
            free = state.devices[row, n].tolist()
            able = [(left + free[d], d) for left, d in able if free[d] >= amount]
        if len(able) < need.count:
            return None
        chosen += [d for _, d in sorted(able)[: need.count]]
    return tuple(sorted(chosen))
