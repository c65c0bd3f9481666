"""What the cluster is too small for: merged capacity at prices of resources and device shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import gcd
from typing import NamedTuple

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.step import Loads
from kantopt.verify.weight import weight

MIXTURES = 16
"""Two resources are weighed against each other in so many steps."""
UNITS = 2000
"""A device is divided into so many units at most."""
SCARCE = 3
"""At most so many resources are looked at: those of which the largest share is asked for."""


class Share(NamedTuple):
    """A share of a device: of which class, of which of its resources how much."""

    device_class: str
    resource: int
    size: int


@dataclass(frozen=True, slots=True)
class Item:
    """Pods, or jobs, of one kind: what one weighs in its tier and asks of nodes and devices."""

    weight: int
    asks: Amounts
    shares: tuple[tuple[Share, int], ...]
    """Each share of a device and how many of it, on devices of their own."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a unit of each resource of nodes and what each share of a device costs, from 0 on."""

    resources: Amounts
    shares: tuple[tuple[Share, int], ...] = ()

    def of(self, item: Item) -> int:
        """Price of all that an item asks for."""
        price = sum(m * ask for m, ask in zip(self.resources, item.asks, strict=True) if m)
        if self.shares:
            each = dict(self.shares)
            price += sum(count * each.get(share, 0) for share, count in item.shares)
        return price


@dataclass(frozen=True, slots=True)
class _Priced:
    """Items of a tier under multipliers, those first that free most room for their weight."""

    items: tuple[tuple[int, int, int], ...]
    """Weight, price and number of each kind."""
    price: int
    """Of all of them."""
    step: int
    """Every sum of weights is a multiple of this."""

    def most_freed(self, weight: int) -> int:
        """Highest price of items of so much weight, of the last kind in part."""
        freed = 0
        for one, price, count in self.items:
            if one * count >= weight:
                return freed - (-price * weight // one)
            weight -= one * count
            freed += price * count
        return freed

    def least_weight(self, price: int) -> int:
        """Least weight of items of so high a price."""
        least = 0
        for one, each, count in self.items:
            if price <= 0:
                break
            if each * count >= price:
                least -= -one * price // each  # the last kind in part, rounded up
                break
            price -= each * count
            least += one * count
        return -(-least // self.step) * self.step


def bound_shortage(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Least that stays unplaced because the whole cluster has no room for it.

    The best of :func:`shortage` over single resources and mixtures of two of the scarcest.
    """
    if not instance.on(Rule.CAPACITY):
        return 0
    held = tuple(other for other in above if _holds(other))
    values = tuple(above[other] for other in held)
    return max(
        (shortage(tier, instance, held, values, m) for m in _mixtures(tier, instance, held)),
        default=0,
    )


def shortage(
    tier: Tier,
    instance: Instance,
    held: tuple[Tier, ...],
    values: Sequence[int],
    prices: Prices,
) -> int:
    """Least weight that stays unplaced in a tier, by one price of all resources together.

    All nodes are taken as one, and a device as worth the dearest shares that it holds together.
    What is placed costs no more than the cluster offers; what the tiers above count is placed but
    for their values, of which the dearest are left out.

    Parameters
    ----------
    held, values
        Tiers of ``unplaced`` above this one, and what they may leave unplaced.
    prices
        Any make a valid bound.
    """
    room = taken = 0
    for m, offer in zip(prices.resources, _offers(instance), strict=True):
        if m and offer is None:
            return 0  # there is as much of it as anybody wants
        room += m * (offer or 0)
    if prices.shares:
        room += _worth_of_devices(instance, prices.shares)
    for i, (other, value) in enumerate(zip(held, values, strict=True)):
        priced = _priced(other, instance, held[:i], prices)
        taken += priced.price - priced.most_freed(value)
    priced = _priced(tier, instance, held, prices)
    return priced.least_weight(taken + priced.price - room)


def _holds(tier: Tier) -> bool:
    return tier.metric is Metric.UNPLACED and not tier.surplus


@lru_cache(maxsize=4)
def _offers(instance: Instance) -> tuple[int | None, ...]:
    """What all nodes together offer of each resource; ``None`` if one has no limit.

    What is overcommitted now may stay so.
    """
    standing = Loads.of(instance, instance.current).node
    offers: list[int | None] = []
    for r in range(len(instance.resources)):
        limits = [node.capacity[r] for node in instance.nodes]
        offers.append(
            None
            if any(limit is None for limit in limits)
            else sum(max(limit or 0, standing[n][r]) for n, limit in enumerate(limits))
        )
    return tuple(offers)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Pods of one role: whose they are, their number, what each weighs and asks for."""

    key: tuple[int, int]
    count: int
    item: Item


def _kinds(tier: Tier, instance: Instance) -> Iterator[_Kind]:
    """Yield what a tier cannot do without, role by role."""
    for job in instance.jobs:
        if tier.priority not in (None, job.priority) or job.min_count:
            continue  # a minimum over all roles may be met in many ways
        for i, role in enumerate(job.roles):
            podset = instance.podsets[role.podsets[0]]
            count = role.min_count if job.is_gang else role.count
            each = weight(tier, podset)
            if each and count:
                shares = tuple(
                    (Share(need.device_class, r, size), need.count)
                    for need in podset.devices
                    for r, size in enumerate(need.request)
                    if size
                )
                yield _Kind((job.index, i), count, Item(each, podset.requests, shares))


@lru_cache(maxsize=256)
def items(tier: Tier, instance: Instance, held: tuple[Tier, ...]) -> tuple[tuple[Item, int], ...]:
    """Items of a tier and their number, without those that a tier above counts as well."""
    others = {kind.key for other in held for kind in _kinds(other, instance)}
    kinds = [kind for kind in _kinds(tier, instance) if kind.key not in others]
    counts: Counter[Item] = Counter()
    if tier.unit == "jobs":
        for _, roles in groupby(kinds, key=lambda kind: kind.key[0]):
            counts[_whole(list(roles))] += 1
    else:
        for kind in kinds:
            counts[kind.item] += kind.count
    return tuple(counts.items())


def _whole(roles: Sequence[_Kind]) -> Item:
    """All pods that a job cannot do without as one item, which weighs 1."""
    shares: Counter[Share] = Counter()
    for kind in roles:
        for share, count in kind.item.shares:
            shares[share] += kind.count * count
    asks = zip(*([kind.count * ask for ask in kind.item.asks] for kind in roles), strict=True)
    return Item(1, tuple(sum(amounts) for amounts in asks), tuple(sorted(shares.items())))


@lru_cache(maxsize=256)
def _worth_of_devices(instance: Instance, shares: tuple[tuple[Share, int], ...]) -> int:
    """Price of the dearest shares that all devices together hold.

    Of each class and resource apart: a device that offers several is counted once for each. What
    is overcommitted now may stay so.
    """
    worth = 0
    standing = Loads.of(instance, instance.current).device
    for device_class, r in sorted({(share.device_class, share.resource) for share, _ in shares}):
        sizes = tuple(
            (share.size, price)
            for share, price in shares
            if (share.device_class, share.resource) == (device_class, r)
        )
        rooms = Counter(
            max(device.capacity[r], used[r])
            for node in instance.nodes
            for device, used in zip(node.devices, standing[node.index], strict=True)
            if device.device_class == device_class
        )
        worth += sum(count * dearest(room, sizes) for room, count in rooms.items())
    return worth


def dearest(room: int, sizes: Sequence[tuple[int, int]]) -> int:
    """Most that shares of some sizes, each with its price, cost that fit into a room together.

    Rooms of very many units are looked at in coarser ones, and sizes rounded down: then the answer
    is too high if anything.
    """
    unit = max(gcd(room, *(size for size, _ in sizes)), -(-room // UNITS), 1)
    best = [0] * (room // unit + 1)
    tiny = 0
    for size, price in sizes:
        step = size // unit
        if not step:
            tiny += room // size * price
            continue
        for u in range(step, len(best)):
            best[u] = max(best[u], best[u - step] + price)
    return best[-1] + tiny


@lru_cache(maxsize=4096)
def _priced(tier: Tier, instance: Instance, held: tuple[Tier, ...], prices: Prices) -> _Priced:
    priced = [(item.weight, prices.of(item), count) for item, count in items(tier, instance, held)]
    # Two fractions of such weights differ by one over this at least: whole numbers compare them.
    scale = max((one for one, _, _ in priced), default=1) ** 2
    priced.sort(key=lambda item: (-(item[1] * scale // item[0]), item[0]))
    return _Priced(
        items=tuple(item for item in priced if item[1]),
        price=sum(price * count for _, price, count in priced),
        step=gcd(*(one for one, _, _ in priced)) or 1,
    )


@lru_cache(maxsize=256)
def _mixtures(tier: Tier, instance: Instance, held: tuple[Tier, ...]) -> tuple[Prices, ...]:
    """Prices worth trying: each scarce resource alone, and any two of them mixed."""
    offers = _offers(instance)
    wanted = [0] * len(offers)
    for i, other in enumerate((*held, tier)):
        for item, count in items(other, instance, held[:i]):
            for r, ask in enumerate(item.asks):
                wanted[r] += count * ask
    # No mixture says anything if there is enough of everything.
    short = [r for r, offer in enumerate(offers) if offer is not None and wanted[r] > offer]
    if not short:
        return ()
    scarce = sorted(
        (r for r, offer in enumerate(offers) if offer),
        key=lambda r: (-wanted[r] * 10**6 // (offers[r] or 1), r),
    )
    found = [_prices(len(offers), {r: 1}) for r in short]
    for a, r in enumerate(scarce[:SCARCE]):
        for q in scarce[a + 1 : SCARCE]:
            for step in range(1, MIXTURES):
                # Each is priced by the other's amount, so that equal steps weigh all of it alike.
                mixture = {r: step * (offers[q] or 0), q: (MIXTURES - step) * (offers[r] or 0)}
                found.append(_prices(len(offers), mixture))
    return tuple(found)


def _prices(resources: int, of: Mapping[int, int]) -> Prices:
    return Prices(tuple(of.get(r, 0) for r in range(resources)))
