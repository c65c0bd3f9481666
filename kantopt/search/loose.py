"""Pending pods that are free to go anywhere, by kind, on nodes kept as plain lists.

Where no rule ties pods to others, two of one kind are as good as each other. A step of the state
tells everybody who watches it and takes seven times as long as one of these lists, of which ruin
and recreate makes some hundred thousand in a second.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kantopt.problem.cluster import Node, Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed, Job, PodSet
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.schema.quantity import gpu_milli
from kantopt.search.presolve import binding_queues
from kantopt.search.shapes import PodShape
from kantopt.search.state import State
from kantopt.verify.weight import weight

_CPU_ONLY = -100.0
"""Added to the size of pods without GPUs: they come after all others."""

Place = tuple[int, tuple[int, ...]]
"""Kind of a pod on a node, and the devices that it holds there."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Pods that rules and metrics do not tell apart.

    ``value`` is what one of them unplaced adds to the tiers, all tiers in one number, the most
    important in the highest digits; ``size`` is in GPUs. ``tight`` is the counted GPU resource
    that is asked for, ``other`` the resource without GPUs of which the cluster has least for it.
    """

    podsets: tuple[int, ...]
    allowed: frozenset[int]
    asks: tuple[tuple[int, int], ...]
    need: DeviceNeed | None
    device_asks: tuple[tuple[int, int], ...]
    priority: int
    value: int
    size: float
    tight: int | None
    other: int | None


class Loose:
    """Loose pods of a placement: where they are, what nodes have left, and what waits."""

    def __init__(self, instance: Instance, placement: Placement, tiers: Sequence[Tier]) -> None:
        self.instance = instance
        self.placement = placement
        state = State(instance, placement)
        self.free: list[list[int]] = state.free.T.tolist()
        """What each node has left, by resource."""
        self.devices: list[list[list[int]]] = state.devices.transpose(1, 2, 0).tolist()
        """What each device of each node has left, by row of device resources."""
        self.capacity = [[limit or 1 for limit in node.capacity] for node in instance.nodes]
        """What each node offers, to see what is left in relation to it."""
        self._number = [len(node.devices) for node in instance.nodes]
        self.of_class = [_by_class(node) for node in instance.nodes]
        """Devices of each node by class."""
        self.kinds = self._kinds(state, tiers)
        self.on: list[list[Place]] = [[] for _ in instance.nodes]
        """Loose pods on each node."""
        self.waiting: dict[int, int] = {}
        """Pods of each kind that are not placed; none if a kind is missing."""
        for k, kind in enumerate(self.kinds):
            wanted = 0
            for s in kind.podsets:
                wanted += instance.podsets[s].count
                for spot, pods in placement.podsets[s].items():
                    wanted -= pods
                    self.on[spot.node] += [(k, spot.devices)] * pods
            if wanted:
                self.waiting[k] = wanted
        self._gpus = [r for r in range(len(instance.resources)) if _is_gpu(instance, r)]
        self._gpu_rows = [i for i, r in enumerate(state.device_resources) if r in self._gpus]
        left = {
            spot.node
            for podset in instance.podsets
            for spot, pods in podset.current.items()
            if placement.podsets[podset.index].get(spot, 0) < pods
        }
        self.nodes = [n for n in range(len(instance.nodes)) if n not in left]
        """Nodes that pods may come to and go from: room that others were evicted for stays."""

    # -- kinds

    def _kinds(self, state: State, tiers: Sequence[Tier]) -> list[Kind]:
        instance = self.instance
        tied, may = _tied(instance), freedom_of(instance)
        offered = [
            sum(node.capacity[r] or 0 for node in instance.nodes)
            for r in range(len(instance.resources))
        ]
        units = [t for t in tiers if t.metric is Metric.UNPLACED and not t.surplus]
        alike: dict[Hashable, list[PodSet]] = {}
        weights: dict[Hashable, tuple[int, ...]] = {}
        for podset in instance.podsets:
            free = may.binds[podset.index] and podset.index not in may.tied
            if not free or podset.job in tied or len(podset.devices) > 1:
                continue
            job = instance.jobs[podset.job]
            single = podset.count == 1 and len(job.podsets) == 1
            if job.is_gang and instance.on(Rule.GANG) and not single:
                continue
            missed = tuple(_missing(tier, podset, job, single) for tier in units)
            key: Hashable
            key = (podset.requests, podset.devices, podset.allowed, job.priority, missed)
            alike.setdefault(key, []).append(podset)
            weights[key] = missed
        bases = [1] * len(units)
        for key, podsets in alike.items():
            pods = sum(podset.count for podset in podsets)
            bases = [base + w * pods for base, w in zip(bases, weights[key], strict=True)]
        kinds = []
        for key, podsets in alike.items():
            value = 0
            for w, base in zip(weights[key], bases, strict=True):
                value = value * base + w
            if value:
                shape = state.shape[podsets[0].index]
                kinds.append(_kind(instance, shape, podsets, value, offered))
        return kinds

    # -- changes

    def take(self, k: int, n: int, devices: tuple[int, ...]) -> None:
        """Let a pod of a kind take what it asks for on a node."""
        kind, free = self.kinds[k], self.free[n]
        for r, amount in kind.asks:
            free[r] -= amount
        for d in devices:
            left = self.devices[n][d]
            for r, amount in kind.device_asks:
                left[r] -= amount

    def give(self, k: int, n: int, devices: tuple[int, ...]) -> None:
        """Give back what a pod of a kind has taken on a node."""
        kind, free = self.kinds[k], self.free[n]
        for r, amount in kind.asks:
            free[r] += amount
        for d in devices:
            left = self.devices[n][d]
            for r, amount in kind.device_asks:
                left[r] += amount

    def gpus_left(self, n: int) -> int:
        """GPUs that a node has left, in base units."""
        free = self.free[n]
        rows, there = self._gpu_rows, self.devices[n][: self._number[n]]
        return sum(free[r] for r in self._gpus) + sum(left[i] for left in there for i in rows)

    def placed(self) -> Placement:
        """Return the placement as it stands; of a kind the first pods have the places."""
        spots: dict[int, list[Spot]] = {}
        for n, places in enumerate(self.on):
            for k, devices in places:
                spots.setdefault(k, []).append(Spot(n, devices))
        changes: dict[int, dict[Spot, int]] = {}
        for k, kind in enumerate(self.kinds):
            rest = iter(sorted(spots.get(k, ())))
            for s in kind.podsets:
                changes[s] = {}
                for _, spot in zip(range(self.instance.podsets[s].count), rest, strict=False):
                    changes[s][spot] = changes[s].get(spot, 0) + 1
        return self.placement.replace(changes)


def _by_class(node: Node) -> dict[str, tuple[int, ...]]:
    classes = sorted({device.device_class for device in node.devices})
    return {name: node.devices_of(name) for name in classes}


def _tied(instance: Instance) -> frozenset[int]:
    """Jobs that must be placed, or of which not all may be placed that there is room for."""
    queues = binding_queues(instance)
    return instance.required | {job.index for job in instance.jobs if job.queue in queues}


def _missing(tier: Tier, podset: PodSet, job: Job, single: bool) -> int:
    """What one pod that is not placed adds to a tier; a job of several counts when all are."""
    if not tier.concerns(job):
        return 0
    if tier.unit == "jobs":
        return int(single)
    return weight(tier, podset)


def _kind(
    instance: Instance,
    shape: PodShape,
    podsets: Sequence[PodSet],
    value: int,
    offered: Sequence[int],
) -> Kind:
    first = podsets[0]
    gpus = [r for r, amount in enumerate(first.requests) if amount and _is_gpu(instance, r)]
    shares = [
        (amount / offered[r], r)
        for r, amount in enumerate(first.requests)
        if amount and offered[r] and not _is_gpu(instance, r)
    ]
    share, other = max(shares, default=(0.0, None))
    need = first.devices[0] if first.devices else None
    return Kind(
        podsets=tuple(podset.index for podset in podsets),
        allowed=first.allowed,
        asks=shape.asks,
        need=need,
        device_asks=shape.needs[0].ask if shape.needs else (),
        priority=instance.jobs[first.job].priority,
        value=value,
        size=first.gpu_milli / 1000 if first.gpu_milli else _CPU_ONLY + share,
        tight=gpus[0] if gpus else None,
        other=other,
    )


def _is_gpu(instance: Instance, r: int) -> bool:
    return bool(gpu_milli(instance.resources[r], 1))
