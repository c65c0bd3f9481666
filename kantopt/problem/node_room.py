"""How many pods an empty node holds, worked out once for nodes that offer the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from kantopt.problem.cluster import Amounts, Node
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed
from kantopt.problem.kept import kept_with_instance

Offers = Mapping[str, Mapping[Amounts, int]]
"""Number of the devices of a node, by class and by what each of them offers."""


def node_room(
    node: Node,
    requests: Amounts,
    devices: Iterable[DeviceNeed],
    most: int,
    *,
    capacity: bool = True,
    offers: Offers | None = None,
) -> int:
    """Pods of one shape that an empty node holds, but no more than ``most``.

    ``offers`` are its :func:`device_offers`, where they are known.
    """
    room = most
    if capacity:
        for amount, limit in zip(requests, node.capacity, strict=True):
            if amount and limit is not None:
                room = min(room, limit // amount)
    for need in devices:
        if offers is None:
            offers = device_offers(node)
        slots: Counter[int] = Counter()
        for offer, number in offers.get(need.device_class, {}).items():
            times = (have // ask for have, ask in zip(offer, need.request, strict=True) if ask)
            slots[min(times, default=most)] += number
        room = min(room, distinct_groups(slots, need.count))
    return room


def device_offers(node: Node) -> Offers:
    """Count the devices of a node by class and what each offers: there may be thousands alike."""
    found: dict[str, Counter[Amounts]] = {}
    for device in node.devices:
        found.setdefault(device.device_class, Counter())[device.capacity] += 1
    return found


def distinct_groups(slots: Mapping[int, int], k: int) -> int:
    """Most groups of ``k`` distinct devices, of which so many are each taken that often at most.

    The largest m with sum(min(slot, m)) >= k * m; such groups exist by wrapping around.
    """
    low, high = 0, sum(slot * number for slot, number in slots.items()) // k
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(slot, middle) * number for slot, number in slots.items()) >= k * middle:
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
def _one_of_each(instance: Instance) -> dict[int, tuple[Node, Offers]]:
    """Return a node for each number of :func:`alike_nodes`, with its devices counted."""
    first: dict[int, tuple[Node, Offers]] = {}
    for node, kind in zip(instance.nodes, alike_nodes(instance), strict=True):
        if kind not in first:
            first[kind] = node, device_offers(node)
    return first


class RoomByKind(dict[int, int]):
    """Pods of a shape that an empty node of each kind holds, worked out for kinds asked about.

    Kinds are the numbers of :func:`alike_nodes`.
    """

    def __init__(self, room: Callable[[int], int]) -> None:
        self._room = room

    def __missing__(self, kind: int) -> int:
        self[kind] = room = self._room(kind)
        return room


@kept_with_instance(most=4096)
def room_by_kind(
    instance: Instance,
    requests: Amounts,
    devices: tuple[DeviceNeed, ...],
    most: int,
    *,
    capacity: bool,
) -> RoomByKind:
    """Pods of a shape that an empty node of each kind holds, but no more than ``most``.

    Without ``capacity`` only devices count.
    """
    kinds = _one_of_each(instance)

    def room(kind: int) -> int:
        node, offers = kinds[kind]
        return node_room(node, requests, devices, most, capacity=capacity, offers=offers)

    return RoomByKind(room)
