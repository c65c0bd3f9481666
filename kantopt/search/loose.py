"""Pending pods that are free to go anywhere, by kind, on nodes kept as plain lists.

Where no rule ties pods to others, two of one kind are as good as each other. Lists of integers are
changed faster than arrays where only a few nodes are looked at at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kantopt.problem.cluster import Node, Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed, PodSet
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.schema.quantity import gpu_milli
from kantopt.search.presolve import binding_queues
from kantopt.verify.step import Loads, Step
from kantopt.verify.weight import weight

_UNLIMITED = 2**61
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
        loads = Loads.of(instance, placement)
        counted = instance.on(Rule.CAPACITY)
        self.free = [
            [
                _UNLIMITED if limit is None or not counted else limit - used
                for limit, used in zip(node.capacity, load, strict=True)
            ]
            for node, load in zip(instance.nodes, loads.node, strict=True)
        ]
        """What each node has left, by resource."""
        self.devices = [
            [
                [have - used for have, used in zip(device.capacity, taken, strict=True)]
                for device, taken in zip(node.devices, device_loads, strict=True)
            ]
            for node, device_loads in zip(instance.nodes, loads.device, strict=True)
        ]
        """What each device of each node has left, by resource."""
        self.capacity = [[limit or 1 for limit in node.capacity] for node in instance.nodes]
        """What each node offers, to see what is left in relation to it."""
        self.of_class = [_by_class(node) for node in instance.nodes]
        """Devices of each node by class."""
        self.kinds = self._kinds(tiers)
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
        self._gpus = [r for r, name in enumerate(instance.resources) if gpu_milli(name, 1)]
        step = Step(instance, instance.current, placement)
        left = {spot.node for spots in step.departures for spot in spots}
        self.nodes = [n for n in range(len(instance.nodes)) if n not in left]
        """Nodes that pods may come to and go from: room that others were evicted for stays."""

    # -- kinds

    def _kinds(self, tiers: Sequence[Tier]) -> list[Kind]:
        instance = self.instance
        tied = _tied(instance)
        offered = [
            sum(node.capacity[r] or 0 for node in instance.nodes)
            for r in range(len(instance.resources))
        ]
        units = [t for t in tiers if t.metric is Metric.UNPLACED and not t.surplus]
        alike: dict[Hashable, list[PodSet]] = {}
        weights: dict[Hashable, tuple[int, ...]] = {}
        for podset in instance.podsets:
            if podset.running or podset.job in tied or len(podset.devices) > 1:
                continue
            job = instance.jobs[podset.job]
            single = podset.count == 1 and len(job.podsets) == 1
            if job.is_gang and instance.on(Rule.GANG) and not single:
                continue
            missed = tuple(_missing(tier, podset, job.priority, single) for tier in units)
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
                kinds.append(_kind(instance, podsets, value, offered))
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
        return sum(free[r] + sum(left[r] for left in self.devices[n]) for r in self._gpus)

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


def _tied(instance: Instance) -> set[int]:
    """Jobs of which a rule says more than what their pods ask of a node."""
    tied = {need.job for need in instance.topology_needs} | instance.required
    tied |= {instance.podsets[s].job for s in instance.named}
    queues = binding_queues(instance)
    return tied | {job.index for job in instance.jobs if job.queue in queues}


def _missing(tier: Tier, podset: PodSet, priority: int, single: bool) -> int:
    """What one pod that is not placed adds to a tier; a job of several counts when all are."""
    if tier.priority not in (None, priority):
        return 0
    if tier.unit == "jobs":
        return int(single)
    return weight(tier, podset)


def _kind(
    instance: Instance, podsets: Sequence[PodSet], value: int, offered: Sequence[int]
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
        asks=tuple((r, amount) for r, amount in enumerate(first.requests) if amount),
        need=need,
        device_asks=tuple((r, a) for r, a in enumerate(need.request) if a) if need else (),
        priority=instance.jobs[first.job].priority,
        value=value,
        size=first.gpu_milli / 1000 if first.gpu_milli else _CPU_ONLY + share,
        tight=gpus[0] if gpus else None,
        other=other,
    )


def _is_gpu(instance: Instance, r: int) -> bool:
    return bool(gpu_milli(instance.resources[r], 1))
