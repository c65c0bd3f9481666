"""Rooms cut into shares: what stays unplaced because shares do not go together.

Rooms are nodes, or devices of one class, of which one resource is looked at. Pods that may move or
wait are cut out of any room; pods that stay where they are, or are evicted, out of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.tiers import Tier, concerned
from kantopt.schema.model import Rule
from kantopt.schema.quantity import gpu_milli
from kantopt.verify.bounds.cover import filled, least_left_out
from kantopt.verify.bounds.departures import may_move
from kantopt.verify.bounds.shortage import needed_roles
from kantopt.verify.step import Loads

UNITS = 2000
"""A room is divided into so many units at most."""


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """What rooms are: nodes, or devices of a class; and which resource of them is looked at."""

    device_class: str | None
    resource: int


@dataclass(frozen=True, slots=True, order=True)
class Pinned:
    """A pod that stays in its room or is evicted: its tier, its weight there, its size."""

    tier: int
    weight: int
    size: int


@dataclass(frozen=True, slots=True, order=True)
class Room:
    """A size, and the pods that are there and cannot move."""

    size: int
    pinned: tuple[Pinned, ...]


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """Pods that are alike and may be anywhere: their tier, weight, and shares by size."""

    tier: int
    weight: int
    shares: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Stock:
    """Rooms and pods with their numbers; all sizes are in a unit of their own.

    ``wanted`` is the weight of all pods in each tier: those above, and the one in question last.
    ``step`` divides every weight of that one. ``unit`` is what sizes are counted in, in the base
    unit of the resource.
    """

    rooms: tuple[tuple[Room, int], ...]
    groups: tuple[tuple[Group, int], ...]
    sizes: tuple[int, ...]
    wanted: tuple[int, ...]
    step: int
    unit: int = 1


def least_missing(
    stock: Stock, held: Sequence[int], worth: Sequence[int], prices: Mapping[int, int]
) -> int:
    """Least weight of the tier in question that stays unplaced, by prices of shares.

    What is placed is worth its weight, in tiers above times that tier's worth, and pays for its
    shares; a room earns at most what its dearest contents pay. So the worth of all that is placed
    is at most what all rooms earn and what pods are worth beyond what they pay, whatever the
    prices (Lagrangian duality), and the tiers above are placed but for what they may leave. Small
    prices say more where only whole pods are left out (:mod:`kantopt.verify.bounds.cover`).

    Parameters
    ----------
    held
        Weight that each tier above may leave unplaced.
    worth
        Of one unit of weight in each tier, that in question last; integers, the last above 0.
    prices
        Of each size of a share, in the same unit of worth.
    """
    most = sum(count * dearest(room, worth, prices) for room, count in stock.rooms)
    for group, count in stock.groups:
        pays = sum(k * prices[size] for size, k in group.shares)
        most += count * max(0, group.weight * worth[group.tier] - pays)
    for each, wanted, left in zip(worth, stock.wanted, held, strict=False):
        most -= each * max(0, wanted - left)
    least = -((most - worth[-1] * stock.wanted[-1]) // worth[-1])
    least = max(least, least_left_out(stock, held, prices))
    return max(0, -(-least // stock.step) * stock.step)


def dearest(room: Room, worth: Sequence[int], prices: Mapping[int, int]) -> int:
    """Most that pods in one room are worth and pay together."""
    best = [0] * (room.size + 1)
    for pod in room.pinned:
        value = pod.weight * worth[pod.tier]
        for u in range(room.size, pod.size - 1, -1):
            best[u] = max(best[u], best[u - pod.size] + value)
    return filled(best, prices)


def cuts(instance: Instance) -> list[Cut]:
    """Return the resources that can be looked at: GPUs of nodes, and all resources of devices."""
    if not (instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES)):
        return []
    found = {
        Cut(need.device_class, r)
        for podset in instance.podsets
        for need in podset.devices
        for r, amount in enumerate(need.request)
        if amount
    }
    for podset in instance.podsets:
        if podset.gpu_milli:
            found |= {
                Cut(None, r)
                for r, amount in enumerate(podset.requests)
                if amount and gpu_milli(instance.resources[r], amount)
            }
    return sorted(found, key=lambda cut: (cut.device_class or "", cut.resource))


@kept_with_instance(most=64)
def stock_of(instance: Instance, tiers: tuple[Tier, ...], cut: Cut) -> Stock | None:
    """Return the rooms and pods of some tiers of ``unplaced``, that in question last.

    ``None`` if it would have too many units to be worked out.
    """
    rooms = _rooms(instance, cut)
    groups: Counter[Group] = Counter()
    pinned: dict[tuple[int, int], list[Pinned]] = {}
    wanted = [0] * len(tiers)
    step = 0
    seen: set[tuple[int, int]] = set()
    for t, tier in enumerate(tiers):
        needed = (
            (job, *role)
            for job in concerned(instance, tier)
            for role in needed_roles(tier, instance, job)
        )
        for job, i, role, each, count in needed:
            if (job.index, i) in seen:
                continue
            seen.add((job.index, i))
            wanted[t] += each * count
            step = gcd(step, each) if t == len(tiers) - 1 else step
            stays = 0
            if count == role.count:
                for s in role.podsets:
                    for place, shares, pods in _staying(instance, instance.podsets[s], cut):
                        stays += pods
                        pinned.setdefault(place, []).extend([Pinned(t, each, shares)] * pods)
            # Of an elastic gang nobody knows which pods count: none of them takes any room.
            podset = instance.podsets[role.podsets[0]]
            shares_of = _shares(podset, cut) if count == role.count else ()
            groups[Group(t, each, shares_of)] += count - stays
    return _in_units(rooms, pinned, groups, tuple(wanted), step)


def _shares(podset: PodSet, cut: Cut) -> tuple[tuple[int, int], ...]:
    """Sizes and numbers of the shares that one pod asks for."""
    if cut.device_class is None:
        amount = podset.requests[cut.resource]
        return ((amount, 1),) if amount else ()
    sizes: Counter[int] = Counter()
    for need in podset.devices:
        if need.device_class == cut.device_class and need.request[cut.resource]:
            sizes[need.request[cut.resource]] += need.count
    return tuple(sorted(sizes.items()))


Place = tuple[int, int]
"""Node and device; device -1 is the node itself."""


def _staying(instance: Instance, podset: PodSet, cut: Cut) -> Iterator[tuple[Place, int, int]]:
    """Yield where pods stay that cannot move: room, size of the share, number of pods.

    Those that take shares of several rooms are left out.
    """
    shares = _shares(podset, cut)
    if may_move(instance, podset) or len(shares) != 1:
        return
    ((size, count),) = shares
    for spot, pods in sorted(podset.current.items()):
        if cut.device_class is None:
            yield (spot.node, -1), size, pods
            continue
        devices = instance.nodes[spot.node].devices
        held = [d for d in spot.devices if d < len(devices)]
        held = [d for d in held if devices[d].device_class == cut.device_class]
        if count == 1 and len(held) == 1:
            yield (spot.node, held[0]), size, pods


def _rooms(instance: Instance, cut: Cut) -> dict[Place, int]:
    """Size of each room: its capacity, or what is taken of it now if that is more."""
    standing = Loads.of(instance, instance.current)
    found: dict[Place, int] = {}
    r = cut.resource
    # Where there is no limit there is room for all.
    limit = 0
    if cut.device_class is None:
        limit = sum(podset.count * podset.requests[r] for podset in instance.podsets)
    for node in instance.nodes:
        if cut.device_class is None:
            taken = standing.node[node.index][r]
            capacity = node.capacity[r]
            found[node.index, -1] = max(limit if capacity is None else capacity, taken)
            continue
        for d, device in enumerate(node.devices):
            if device.device_class == cut.device_class:
                taken = standing.device[node.index][d][r]
                found[node.index, d] = max(device.capacity[r], taken)
    return {place: size for place, size in found.items() if size}


def _in_units(
    rooms: Mapping[Place, int],
    pinned: Mapping[Place, Sequence[Pinned]],
    groups: Mapping[Group, int],
    wanted: tuple[int, ...],
    step: int,
) -> Stock | None:
    """Count rooms and pods that are alike, with sizes in the largest unit that divides all."""
    sizes = {size for group in groups for size, _ in group.shares}
    sizes |= {pod.size for pods in pinned.values() for pod in pods}
    if not rooms or not sizes or not step:
        return None
    unit = gcd(*sizes)  # what is left over of a room is of no use to anybody
    if max(rooms.values()) // unit > UNITS:
        return None
    counted: Counter[Room] = Counter()
    for place, size in rooms.items():
        there = (Pinned(pod.tier, pod.weight, pod.size // unit) for pod in pinned.get(place, ()))
        counted[Room(size // unit, tuple(sorted(there)))] += 1
    shared: Counter[Group] = Counter()
    for group, count in groups.items():
        shares = tuple((size // unit, k) for size, k in group.shares)
        shared[Group(group.tier, group.weight, shares)] += count
    return Stock(
        tuple(sorted(counted.items())),
        tuple(sorted((group, count) for group, count in shared.items() if count)),
        tuple(sorted({size for group in shared for size, _ in group.shares})),
        wanted,
        step,
        unit,
    )
