"""How many pods an empty node holds, worked out once for nodes that offer the same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kantopt.problem.cluster import Amounts, Node
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed
from kantopt.problem.kept import kept_with_instance


def node_room(
    node: Node,
    requests: Amounts,
    devices: Iterable[DeviceNeed],
    most: int,
    *,
    capacity: bool = True,
) -> int:
    """Pods of one shape that an empty node holds, but no more than ``most``."""
    room = most
    if capacity:
        for amount, limit in zip(requests, node.capacity, strict=True):
            if amount and limit is not None:
                room = min(room, limit // amount)
    for need in devices:
        slots = []
        for d in node.devices_of(need.device_class):
            offer = node.devices[d].capacity
            slots.append(
                min(
                    (have // ask for have, ask in zip(offer, need.request, strict=True) if ask),
                    default=most,
                )
            )
        room = min(room, distinct_groups(slots, need.count))
    return room


def distinct_groups(slots: list[int], k: int) -> int:
    """Most groups of ``k`` distinct devices, device ``d`` taken at most ``slots[d]`` times.

    The largest m with sum(min(slots[d], m)) >= k * m; such groups exist by wrapping around.
    """
    low, high = 0, sum(slots) // k
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(slot, middle) for slot in slots) >= k * middle:
            low = middle
        else:
            high = middle - 1
    return low


@lru_cache(maxsize=4)
def alike_nodes(instance: Instance) -> list[int]:
    """Number the nodes so that those with the same capacity and devices have the same number."""
    numbers: dict[tuple[object, ...], int] = {}
    return [
        numbers.setdefault((node.capacity, node.devices), len(numbers)) for node in instance.nodes
    ]


@lru_cache(maxsize=4)
def _one_of_each(instance: Instance) -> dict[int, Node]:
    """Return a node for each number of :func:`alike_nodes`."""
    first: dict[int, Node] = {}
    for node, kind in zip(instance.nodes, alike_nodes(instance), strict=True):
        first.setdefault(kind, node)
    return first


@kept_with_instance(most=4096)
def room_by_kind(
    instance: Instance,
    requests: Amounts,
    devices: tuple[DeviceNeed, ...],
    most: int,
    *,
    capacity: bool,
) -> dict[int, int]:
    """Pods of a shape that an empty node of each kind holds, but no more than ``most``.

    Kinds are the numbers of :func:`alike_nodes`; without ``capacity`` only devices count.
    """
    return {
        kind: node_room(node, requests, devices, most, capacity=capacity)
        for kind, node in _one_of_each(instance).items()
    }
