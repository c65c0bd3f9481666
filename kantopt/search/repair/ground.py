"""What a bound on repairs needs to know of a question: per node who could leave, and the room then.

Rooms are of one resource of devices, in units that all pods ask whole numbers of if there are such,
and of one resource of nodes. What else pods ask for is left out: more fits than really does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.shapes import Ints, PodShape
from kantopt.search.state import UNLIMITED, State

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
    """The most that one pod that waits counts."""


@dataclass(frozen=True, slots=True)
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


def ground_of(instance: Instance, weights: Sequence[int]) -> Ground | None:
    """Return what the bound needs to know; ``None`` if it cannot say anything.

    ``weights`` says what a pod of each pod set counts. All that count, and all that may leave a
    device of the class, must ask for one resource of devices of that class, and of no other class.
    """
    state = State(instance)
    counting = {state.shape[p.index].index for p in instance.podsets if weights[p.index]}
    shapes: list[PodShape] = []
    for shape in state.shape:
        if shape.index == len(shapes):
            shapes.append(shape)
    asks = {
        (need.device_class, plane)
        for k in counting
        for need in shapes[k].needs
        for plane, _ in need.ask
    }
    if len(asks) != 1 or any(len(shapes[k].needs) != 1 for k in counting):
        return None
    device_class, plane = asks.pop()
    unit = _unit(_largest(instance, state.device_resources[plane]), shapes, device_class, plane)
    resource = _resource(instance, state)
    kinds = _kinds(state, shapes, weights, device_class, plane, unit, resource)
    if bool(((kinds.devices > 0) & (kinds.units == 0) & (kinds.waiting > 0)).any()):
        return None
    rows = _rows(instance, state)
    if any(not _plain(state, kinds, row, device_class) for row in rows):
        return None
    ours = state.device_class == device_class
    devices = np.where(ours, np.maximum(state.devices[plane], 0), 0)
    free = np.zeros(state.size, dtype=np.int64)
    if resource is not None:
        free = np.maximum(state.free[resource], 0)
    given = np.zeros((len(rows), devices.shape[1]), dtype=np.int64)
    for i, (k, n, spot) in enumerate(rows):
        for d in spot:
            given[i, d] += kinds.amount[k] if ours[n, d] else 0
    present: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in instance.nodes]
    for k, n, spot in rows:
        present[n].append((k, tuple(d for d in spot if ours[n, d])))
    return Ground(
        kinds,
        _leaving(rows, kinds, free, devices, given, unit),
        free,
        devices,
        unit,
        _largest(instance, state.device_resources[plane]) // unit,
        np.array([2 if len(pods) <= _MOST_FOR_PAIRS else 1 for pods in present]),
        tuple(tuple(pods) for pods in present),
        resource is not None,
    )


def _plain(
    state: State, kinds: Kinds, row: tuple[int, int, tuple[int, ...]], device_class: int
) -> bool:
    """Whether a pod holds as many devices of the class as its kind asks for."""
    k, n, devices = row
    held = sum(int(state.device_class[n, d]) == device_class for d in devices)
    return held == int(kinds.devices[k])


def _largest(instance: Instance, r: int) -> int:
    """Most of a resource that a device has."""
    return max(
        (device.capacity[r] for node in instance.nodes for device in node.devices), default=0
    )


def _unit(most: int, shapes: Sequence[PodShape], device_class: int, plane: int) -> int:
    """Units of the device resource: the finest that is not too fine."""
    amounts = [
        amount
        for shape in shapes
        for need in shape.needs
        if need.device_class == device_class
        for row, amount in need.ask
        if row == plane
    ]
    return max(gcd(*amounts), -(-most // _UNITS))


def _resource(instance: Instance, state: State) -> int | None:
    """Return the node's resource to look at: cpu, if it is limited."""
    if "cpu" not in instance.resources or not instance.on(Rule.CAPACITY):
        return None
    r = instance.resources.index("cpu")
    return r if int(state.capacity[r].max(initial=0)) < min(_LARGE, UNLIMITED) else None


def _kinds(
    state: State,
    shapes: Sequence[PodShape],
    weights: Sequence[int],
    device_class: int,
    plane: int,
    unit: int,
    resource: int | None,
) -> Kinds:
    count = len(shapes)
    node, devices, amounts, units, running, waiting, worth = np.zeros((7, count), dtype=np.int64)
    for k, shape in enumerate(shapes):
        node[k] = 0 if resource is None else shape.request[resource]
        if len(shape.needs) == 1 and shape.needs[0].device_class == device_class:
            amount = dict(shape.needs[0].ask).get(plane, 0)
            if amount:
                devices[k], amounts[k], units[k] = shape.needs[0].count, amount, amount // unit
    for podset in state.instance.podsets:
        k = state.shape[podset.index].index
        if podset.running:
            running[k] += podset.count
        elif weights[podset.index]:
            waiting[k] += podset.count
            worth[k] = max(int(worth[k]), weights[podset.index])
    return Kinds(node, devices, amounts, units, running, waiting, worth)


def _rows(instance: Instance, state: State) -> list[tuple[int, int, tuple[int, ...]]]:
    """Kind, node and devices of each pod that may leave its place."""
    rows = []
    for podset in instance.podsets:
        if podset.running and (podset.movable or not instance.on(Rule.PINNED)):
            for spot, pods in sorted(podset.current.items()):
                devices = tuple(d for d in spot.devices if d < state.device_class.shape[1])
                rows += [(state.shape[podset.index].index, spot.node, devices)] * pods
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
