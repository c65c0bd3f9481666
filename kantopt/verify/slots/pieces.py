"""What slots are counted in: the devices of a class, or whole nodes, and what pods take of them.

Nodes in use are counted in nodes: a piece is in use that has not all of its room left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from kantopt.problem.cluster import Amounts, Spot
from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.departures import may_leave

LARGEST_TABLE = 4096
"""Most pairs of amounts in a table over the room of a piece."""
LEAST_STEPS = 16
"""Fewest steps that rounding may leave of the second resource."""

Two = tuple[int, int]
"""Amounts of the resource that slots are made of and of one more, each in its unit."""
Limits = tuple[int | None, ...]
Asked = Mapping[int, tuple[int, Amounts]]
Offered = Sequence[Sequence[tuple[int | None, Limits]]]


@dataclass(frozen=True, slots=True)
class Ask:
    """What one pod takes: ``request`` of each of ``width`` pieces of a node."""

    width: int
    request: Two


@dataclass(frozen=True, slots=True)
class Piece:
    """A device, or a node: its room in units, and what it has beyond whole units.

    Room is at least what is taken now; where that is more than there is, ``beyond`` is negative.
    What is free of a piece that does not count makes no slot, and is missed by none.
    """

    device: int | None
    room: Two
    beyond: int
    counts: bool = True
    full: Two | None = None
    """All of its room, where it counts whether the piece is in use, not what is free."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of each node, and what the pods of each pod set take of them.

    Pod sets that take nothing are left out. ``unit`` is the amount of the first resource in a unit
    of room; the second is rounded down, in room and requests alike, where it is very fine.
    """

    of_node: tuple[tuple[Piece, ...], ...]
    asks: Mapping[int, Ask]
    unit: int

    def free(self, beyond: int, left: int) -> int:
        """Return the amount that is free of a piece with so many units of room left."""
        return max(0, beyond + self.unit * left)


def taken_by(instance: Instance, tier: Tier, spot: Spot) -> tuple[int, ...]:
    """Positions, among its node's pieces, of those that a pod on a spot takes."""
    if tier.device_class is None:
        return (0,)
    order = instance.nodes[spot.node].devices_of(tier.device_class)
    return tuple(order.index(d) for d in spot.devices if d in order)


def pieces_of(instance: Instance, tier: Tier) -> Pieces | None:
    """Return the pieces of a tier of slots, or of nodes in use.

    ``None`` if no rule or amount limits them, if no pod takes any of them, if a pod takes some but
    not all of several pieces of a node or runs on other pieces than it asks for, or if amounts are
    too fine for tables.
    """
    judged = Rule.CAPACITY if tier.device_class is None else Rule.DEVICES
    if not instance.on(judged):
        return None
    offered = [_offered(instance, tier, n) for n in range(len(instance.nodes))]
    asked = _asked(instance, tier)
    in_use = tier.metric is Metric.NODES_IN_USE
    r = _scarcest(instance, asked, offered) if in_use else tier.resource
    if r is None or any(limits[r] is None for node in offered for _, limits in node):
        return None
    if not _whole(instance, tier, asked, offered):
        return None
    whole = {s: request for s, (_, request) in asked.items()}
    taken = _taken(instance, tier, whole, offered, len(instance.resources))
    second = _second(instance, r, asked, offered)
    unit = gcd(*(request[r] for _, request in asked.values())) or 1
    steps = 1 + _most(r, offered, taken) // unit
    if steps * (1 if second is None else LEAST_STEPS) > LARGEST_TABLE:
        return None
    coarse = 1
    if second is not None:
        exact = gcd(*(request[second] for _, request in asked.values())) or 1
        most = _most(second, offered, taken)
        coarse = (
            exact
            if (1 + most // exact) * steps <= LARGEST_TABLE
            else (most // (LARGEST_TABLE // steps - 1) + 1)
        )

    def rest(amounts: Sequence[int]) -> int:
        return 0 if second is None else amounts[second] // coarse

    asks = {
        s: Ask(width, (request[r] // unit, rest(request))) for s, (width, request) in asked.items()
    }
    asks = {s: ask for s, ask in asks.items() if any(ask.request)}
    if not asks:
        return None
    loads = _taken(instance, tier, {s: ask.request for s, ask in asks.items()}, offered, 2)
    counting = counted(instance, tier)
    nodes = []
    for n, (node, node_loads) in enumerate(zip(offered, loads, strict=True)):
        pieces = []
        for (device, limits), (first, other) in zip(node, node_loads, strict=True):
            room = max((limits[r] or 0) // unit, first)
            beyond = (limits[r] or 0) - room * unit
            also = other if second is None else max(other, (limits[second] or 0) // coarse)
            full = (room, also) if in_use else None
            pieces.append(Piece(device, (room, also), beyond, n in counting, full))
        nodes.append(tuple(pieces))
    return Pieces(tuple(nodes), asks, unit)


def _offered(instance: Instance, tier: Tier, n: int) -> list[tuple[int | None, Limits]]:
    """Pieces of a node with their limits; of one in use or not, what is left beside daemons."""
    node = instance.nodes[n]
    if tier.metric is Metric.NODES_IN_USE:
        taken = _of_daemons(instance)[n]
        rows = zip(node.capacity, taken, strict=True)
        return [(None, tuple(None if limit is None else limit - k for limit, k in rows))]
    if tier.device_class is None:
        return [(None, node.capacity)]
    return [(d, node.devices[d].capacity) for d in node.devices_of(tier.device_class)]


@kept_with_instance(most=1)
def _of_daemons(instance: Instance) -> list[list[int]]:
    """What pods of daemons that stay take of each node."""
    taken = [[0] * len(instance.resources) for _ in instance.nodes]
    for podset in instance.podsets:
        if podset.daemon and podset.running and not may_leave(instance, podset):
            for spot, pods in podset.current.items():
                for r, amount in enumerate(podset.requests):
                    taken[spot.node][r] += pods * amount
    return taken


def _asked(instance: Instance, tier: Tier) -> dict[int, tuple[int, Amounts]]:
    """Pieces that one pod takes and what it takes of each, by pod set.

    Pods of daemons are on nodes that are not in use as well.
    """
    if tier.metric is Metric.NODES_IN_USE:
        counted_pods = [podset for podset in instance.podsets if not podset.daemon]
        return {podset.index: (1, podset.requests) for podset in counted_pods}
    if tier.device_class is None:
        return {podset.index: (1, podset.requests) for podset in instance.podsets}
    return {
        podset.index: (need.count, need.request)
        for podset in instance.podsets
        for need in podset.devices
        if need.device_class == tier.device_class
    }


def _whole(instance: Instance, tier: Tier, asked: Asked, offered: Offered) -> bool:
    """Whether each pod takes one piece or all, and runs on as many as it asks for."""
    widths = {width for width, _ in asked.values()}
    if any(1 < width < len(node) for width in widths for node in offered):
        return False
    return all(
        len(taken_by(instance, tier, spot)) == width
        for s, (width, _) in asked.items()
        for spot in instance.podsets[s].current
    )


def _taken(
    instance: Instance, tier: Tier, each: Mapping[int, Sequence[int]], offered: Offered, size: int
) -> list[list[list[int]]]:
    """Sum up what pods take now of each node's pieces, by what one of each pod set takes of one."""
    taken = [[[0] * size for _ in node] for node in offered]
    for s, request in each.items():
        for spot, pods in instance.podsets[s].current.items():
            for i in taken_by(instance, tier, spot):
                for r, amount in enumerate(request):
                    taken[spot.node][i][r] += pods * amount
    return taken


def _scarcest(instance: Instance, asked: Asked, offered: Offered) -> int | None:
    """Return the resource of which the greatest share of what nodes offer is asked for."""

    def share(m: int) -> Fraction:
        limits = [piece[m] for node in offered for _, piece in node]
        offer = sum(limit or 0 for limit in limits)
        wanted = sum(instance.podsets[s].count * request[m] for s, (_, request) in asked.items())
        return Fraction(-1) if None in limits else Fraction(wanted, max(1, offer))

    return max(range(len(instance.resources)), key=share, default=None)


def _second(instance: Instance, r: int, asked: Asked, offered: Offered) -> int | None:
    """Return the resource of which most is wanted that can run short before the first does."""
    limits = {piece for node in offered for _, piece in node}
    scarcest, most = None, Fraction(0)
    for m in range(len(instance.resources)):
        bounded = [piece[m] for piece in limits]
        asks = [(request[r], request[m]) for _, request in asked.values() if request[m]]
        if m == r or not asks or None in bounded:
            continue
        if all(
            first and other * (piece[r] or 0) <= (piece[m] or 0) * first
            for first, other in set(asks)
            for piece in limits
        ):
            continue
        offer = sum(piece[m] or 0 for node in offered for _, piece in node)
        wanted = sum(
            instance.podsets[s].count * width * request[m] for s, (width, request) in asked.items()
        )
        share = Fraction(wanted, max(1, offer))
        if share > most:
            scarcest, most = m, share
    return scarcest


def _most(r: int, offered: Offered, taken: list[list[list[int]]]) -> int:
    """Most of a resource that any piece offers or that is taken of it."""
    limits = [piece[r] or 0 for node in offered for _, piece in node]
    return max([*limits, *(amounts[r] for node in taken for amounts in node)], default=0)
