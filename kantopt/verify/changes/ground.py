"""What a bound on repairs needs to know of a question: per node who could leave, and the room then.

Rooms are of one resource of devices, in units that all pods ask whole numbers of if there are such,
and of one resource of nodes. What else pods ask for is left out: more fits than really does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed, PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.bounds.departures import may_move
from kantopt.verify.step import Loads

Ints = NDArray[np.int64]

_UNITS = 1000
"""Most units of a device; with finer requests the units are coarser and pods rounded down."""
_MOST_FOR_PAIRS = 32
"""Pods on a node up to which all pairs of them are looked at."""
_LARGE = 2**31
"""Amounts of a node's resource from there on are not looked at."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """Ways for one pod to leave a node, for two or for none; no two rows say the same.

    ``pods`` has two columns of kinds, -1 for nobody; ``free`` of the node's resource and ``room``
    on each device, in units, sorted, is what is free once they are gone.
    """

    node: Ints
    pods: Ints
    free: Ints
    room: Ints


@dataclass(frozen=True, slots=True)
class Kinds:
    """Shapes of pods: what each asks of the node, and of how many devices how many units.

    Of those that do not ask for devices of the class, ``devices`` is 0.
    """

    names: tuple[str, ...]
    """What one pod asks for, in base units: the same where pods are counted together."""
    node: Ints
    devices: Ints
    amount: Ints
    """Of each device, exactly."""
    units: Ints
    """Of each device, in whole units rounded down."""
    running: Ints
    """Pods that run and may move."""
    waiting: Ints
    worth: Ints
    """The most that one pod that waits counts in each tier; (T, K)."""

    @property
    def useful(self) -> Ints:
        """Those that ask for devices, a whole unit of each at least."""
        return np.flatnonzero((self.devices > 0) & (self.units > 0))


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A question as the bound sees it.

    ``present`` lists for each node the pods that may leave: kind and devices.
    """

    kinds: Kinds
    leaving: Leaving
    free: Ints
    room: Ints
    """Free on each device, exactly."""
    unit: int
    units: int
    """Most units that a device has."""
    most: Ints
    """Of each node, how many pods leave at most in the rows of ``leaving``."""
    present: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    limited: bool
    """Whether the node's resource is limited everywhere; if not, it is not looked at."""


@lru_cache(maxsize=4)
def ground_of(instance: Instance, tiers: tuple[Tier, ...]) -> Ground | None:
    """Return what the bound needs to know; ``None`` if it cannot say anything.

    ``tiers`` count pods that are unplaced. All pods that count, and all that may leave a device of
    the class, must ask for one resource of devices of that class, and of no other class.
    """
    weights = [_weights(instance, tier) for tier in tiers]
    shapes = _Shapes(instance)
    counting = {shapes.of[s] for each in weights for s, w in enumerate(each) if w}
    asks = {
        (need.device_class, r)
        for k in counting
        for need in shapes.needs[k]
        for r, amount in enumerate(need.request)
        if amount
    }
    if len(asks) != 1 or any(len(shapes.needs[k]) != 1 for k in counting):
        return None
    device_class, r = asks.pop()
    largest = _largest(instance, r)
    unit = _unit(largest, shapes, device_class, r)
    resource = _resource(instance)
    kinds = _kinds(instance, shapes, weights, device_class, r, unit, resource)
    if bool(((kinds.devices > 0) & (kinds.units == 0) & (kinds.waiting > 0)).any()):
        return None
    rows = _rows(instance, shapes)
    ours = [
        [device.device_class == device_class for device in node.devices] for node in instance.nodes
    ]
    if any(sum(ours[n][d] for d in spot) != kinds.devices[k] for k, n, spot in rows):
        return None
    standing = Loads.of(instance, instance.current)
    most = max((len(node.devices) for node in instance.nodes), default=0)
    devices = np.zeros((len(instance.nodes), most), dtype=np.int64)
    for n, node in enumerate(instance.nodes):
        for d, device in enumerate(node.devices):
            if ours[n][d]:
                devices[n, d] = max(0, device.capacity[r] - standing.device[n][d][r])
    free = np.zeros(len(instance.nodes), dtype=np.int64)
    if resource is not None:
        for n, node in enumerate(instance.nodes):
            free[n] = max(0, (node.capacity[resource] or 0) - standing.node[n][resource])
    given = np.zeros((len(rows), most), dtype=np.int64)
    present: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in instance.nodes]
    for i, (k, n, spot) in enumerate(rows):
        held = tuple(d for d in spot if ours[n][d])
        for d in held:
            given[i, d] += kinds.amount[k]
        present[n].append((k, held))
    return Ground(
        kinds,
        _leaving(rows, kinds, free, devices, given, unit),
        free,
        devices,
        unit,
        largest // unit,
        np.array([2 if len(pods) <= _MOST_FOR_PAIRS else 1 for pods in present]),
        tuple(tuple(pods) for pods in present),
        resource is not None,
    )


def _weights(instance: Instance, tier: Tier) -> list[int]:
    """Return what a pod of each pod set counts that waits now; 0 for all others."""
    return [
        tier.weight(podset)
        if tier.concerns(instance.job_of(podset.index)) and not podset.running
        else 0
        for podset in instance.podsets
    ]


class _Shapes:
    """What pods ask for, each shape once: the first of its pod sets, and those of all."""

    def __init__(self, instance: Instance) -> None:
        devices = instance.on(Rule.DEVICES)
        known: dict[object, int] = {}
        self.first: list[PodSet] = []
        self.needs: list[tuple[DeviceNeed, ...]] = []
        self.of: list[int] = []
        for podset in instance.podsets:
            needs = podset.devices if devices else ()
            k = known.setdefault((podset.requests, needs), len(known))
            if k == len(self.first):
                self.first.append(podset)
                self.needs.append(needs)
            self.of.append(k)


def _largest(instance: Instance, r: int) -> int:
    """Most of a resource that a device has."""
    return max(
        (device.capacity[r] for node in instance.nodes for device in node.devices), default=0
    )


def _unit(most: int, shapes: _Shapes, device_class: str, r: int) -> int:
    """Units of the device resource: the finest that is not too fine."""
    amounts = [
        need.request[r]
        for needs in shapes.needs
        for need in needs
        if need.device_class == device_class
    ]
    return max(gcd(*amounts), -(-most // _UNITS))


def _resource(instance: Instance) -> int | None:
    """Return the node's resource to look at: cpu, if it is limited."""
    if "cpu" not in instance.resources or not instance.on(Rule.CAPACITY):
        return None
    r = instance.resources.index("cpu")
    limits = [node.capacity[r] for node in instance.nodes]
    return None if any(limit is None or limit >= _LARGE for limit in limits) else r


def _kinds(
    instance: Instance,
    shapes: _Shapes,
    weights: Sequence[Sequence[int]],
    device_class: str,
    r: int,
    unit: int,
    resource: int | None,
) -> Kinds:
    count = len(shapes.first)
    node, devices, amounts, units, running, waiting = np.zeros((6, count), dtype=np.int64)
    worth = np.zeros((len(weights), count), dtype=np.int64)
    for k, (first, needs) in enumerate(zip(shapes.first, shapes.needs, strict=True)):
        node[k] = 0 if resource is None else first.requests[resource]
        if len(needs) == 1 and needs[0].device_class == device_class:
            amount = needs[0].request[r]
            if amount:
                devices[k], amounts[k], units[k] = needs[0].count, amount, amount // unit
    for podset, k in zip(instance.podsets, shapes.of, strict=True):
        each = [own[podset.index] for own in weights]
        if podset.running:
            running[k] += podset.count
        elif any(each):
            waiting[k] += podset.count
            worth[:, k] = np.maximum(worth[:, k], each)
    asked = zip(shapes.first, shapes.needs, strict=True)
    names = tuple(_name(instance, first.requests, needs) for first, needs in asked)
    return Kinds(names, node, devices, amounts, units, running, waiting, worth)


def _name(instance: Instance, requests: Sequence[int], needs: Sequence[DeviceNeed]) -> str:
    """Say what one pod asks for."""

    def amounts(of: Sequence[int]) -> str:
        named = zip(of, instance.resources, strict=True)
        return ", ".join(f"{amount} {resource}" for amount, resource in named if amount)

    devices = [f"{need.count} {need.device_class} with {amounts(need.request)}" for need in needs]
    return ", ".join(filter(None, (amounts(requests), *devices))) or "nothing"


def _rows(instance: Instance, shapes: _Shapes) -> list[tuple[int, int, tuple[int, ...]]]:
    """Kind, node and devices of each pod that may leave its place."""
    rows = []
    for podset, k in zip(instance.podsets, shapes.of, strict=True):
        if may_move(instance, podset):
            for spot, pods in sorted(podset.current.items()):
                there = len(instance.nodes[spot.node].devices)
                rows += [(k, spot.node, tuple(d for d in spot.devices if d < there))] * pods
    return rows


def _leaving(
    rows: list[tuple[int, int, tuple[int, ...]]],
    kinds: Kinds,
    free: Ints,
    devices: Ints,
    given: Ints,
    unit: int,
) -> Leaving:
    on: list[list[int]] = [[] for _ in range(len(free))]
    for i, (_, n, _) in enumerate(rows):
        on[n].append(i)
    pairs = [(n, -1, -1) for n in range(len(free))]
    for n, there in enumerate(on):
        for k, i in enumerate(there):
            pairs.append((n, i, -1))
            if len(there) <= _MOST_FOR_PAIRS:
                pairs += [(n, i, j) for j in there[k + 1 :]]
    node, first, second = np.array(pairs, dtype=np.int64).T
    kind = np.array([*(k for k, _, _ in rows), -1], dtype=np.int64)
    asked = np.append(kinds.node, 0)
    given = np.vstack([given, np.zeros((1, devices.shape[1]), dtype=np.int64)])
    pods = np.sort(np.stack([kind[first], kind[second]], axis=1), axis=1)[:, ::-1]
    room = np.sort((devices[node] + given[first] + given[second]) // unit, axis=1)
    left = free[node] + asked[kind[first]] + asked[kind[second]]
    table = np.unique(np.column_stack([node, pods, left, room]), axis=0)
    return Leaving(table[:, 0], table[:, 1:3], table[:, 3], table[:, 4:])
