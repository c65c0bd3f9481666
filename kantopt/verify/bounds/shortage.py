"""What the cluster is too small for: merged capacity, priced by multipliers of its resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet, Role
from kantopt.problem.kept import PER_TIER, kept_with_instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.bounds.alike_jobs import alike_jobs
from kantopt.verify.bounds.departures import evictable, most_on_nodes

MIXTURES = 16
"""Two resources are weighed against each other in so many steps."""
SCARCE = 3
"""At most so many resources are looked at: those of which the largest share is asked for."""
_MOST_MIXED = 32
"""Tiers above one up to which mixtures are tried: each is priced with all above it."""


@dataclass(frozen=True, slots=True)
class Item:
    """Pods, or jobs, of one kind: what one weighs in its tier and asks of each resource."""

    weight: int
    asks: Amounts


_Kind = tuple[tuple[int, int], int, int, int, Amounts]
"""Job and role, how many jobs are like it, weight, number and requests of pods."""


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


@dataclass(frozen=True, slots=True)
class _Trade:
    """A tier, and those held above it, under one price of all resources together."""

    lack: int
    """What all that is wanted and all that stays cost more than the cluster offers."""
    held: tuple[_Priced, ...]
    own: _Priced

    def least(self, values: Sequence[int]) -> int:
        """Least weight that stays unplaced where those above leave no more than some values."""
        freed = (one.most_freed(value) for one, value in zip(self.held, values, strict=True))
        return self.own.least_weight(self.lack - sum(freed))


def bound_shortage(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Least that stays unplaced because the whole cluster has no room for it.

    All nodes are taken as one, and all resources together have one price. What is placed costs no
    more than the cluster offers; what the tiers above count is placed but for their values, of
    which the dearest are left out, and of all others stay the pods that nobody may evict. Any
    integers from 0 on as prices make a valid bound: the best is taken of those of single resources
    and of mixtures of two of the scarcest.
    """
    if not instance.on(Rule.CAPACITY):
        return 0
    held = tuple(other for other in above if other.counts_unplaced)
    values = tuple(above[other] for other in held)
    return max((trade.least(values) for trade in _trades(tier, instance, held)), default=0)


@kept_with_instance(most=256)
def _trades(tier: Tier, instance: Instance, held: tuple[Tier, ...]) -> tuple[_Trade, ...]:
    """Return the trades of all mixtures that are worth trying."""
    stay = _beside(tier, instance, held)
    found = (_trade(tier, instance, held, m, stay) for m in _mixtures(tier, instance, held))
    return tuple(trade for trade in found if trade is not None)


def _trade(
    tier: Tier, instance: Instance, held: tuple[Tier, ...], multipliers: Amounts, stay: Amounts
) -> _Trade | None:
    """Price all that is wanted; ``None`` if there is as much of something as anybody wants."""
    lack = 0
    for m, offer, amount in zip(multipliers, _offers(instance), stay, strict=True):
        if m and offer is None:
            return None
        lack += m * (amount - (offer or 0))
    above = tuple(
        _priced(other, instance, _overlapping(other, held[:i]), multipliers)
        for i, other in enumerate(held)
    )
    own = _priced(tier, instance, _overlapping(tier, held), multipliers)
    return _Trade(lack + sum(one.price for one in (*above, own)), above, own)


def _overlapping(tier: Tier, held: tuple[Tier, ...]) -> tuple[Tier, ...]:
    """Those of some tiers that may count what a tier counts: what it is priced by is known by them.

    They are few, so that of many priorities each is priced once and not for all below it.
    """
    mine = tier.priority
    return tuple(o for o in held if mine is None or o.priority is None or o.priority == mine)


@lru_cache(maxsize=4)
def _offers(instance: Instance) -> tuple[int | None, ...]:
    """What pods can hold of all nodes together of each resource; ``None`` if one has no limit."""
    return tuple(
        None if None in each else sum(amount or 0 for amount in each)
        for each in zip(*most_on_nodes(instance), strict=True)
    )


@lru_cache(maxsize=4)
def _staying(instance: Instance) -> tuple[tuple[Job, PodSet, bool, Amounts], ...]:
    """Sum up what running pods ask for that no plan evicts, by what tiers tell apart of them.

    With a job and pod set of each kind, and whether a tier that is about them counts them.
    """
    found: dict[tuple[object, ...], tuple[Job, PodSet, bool, Amounts]] = {}
    for podset in instance.podsets:
        if podset.running and podset.index not in evictable(instance):
            job = instance.job_of(podset.index)
            role = job.roles[podset.role]
            first = instance.podsets[role.podsets[0]]
            needed = not job.min_count and job.needed(role) > 0
            key = needed, job.priority, job.may_preempt, job.waits, first.gpu_milli
            *_, sums = found.get(key, (job, first, needed, (0,) * len(podset.requests)))
            more = zip(sums, podset.requests, strict=True)
            found[key] = job, first, needed, tuple(a + podset.count * b for a, b in more)
    return tuple(found.values())


@kept_with_instance(most=256)
def _beside(tier: Tier, instance: Instance, held: tuple[Tier, ...]) -> Amounts:
    """What those of them ask for whom neither the tier counts nor one that is held."""
    found = [0] * len(instance.resources)
    for job, podset, needed, sums in _staying(instance):
        tiers = (other for other in (*held, tier) if other.concerns(job))
        if not (needed and any(other.weight(podset) for other in tiers)):
            found = [had + amount for had, amount in zip(found, sums, strict=True)]
    return tuple(found)


def needed_roles(tier: Tier, instance: Instance, job: Job) -> Iterator[tuple[int, Role, int, int]]:
    """Yield the roles of a job that a tier cannot do without: weight and number of their pods."""
    if job.min_count:
        return  # a minimum over all roles may be met in many ways
    for i, role in enumerate(job.roles):
        each, count = tier.weight(instance.podsets[role.podsets[0]]), job.needed(role)
        if each and count:
            yield i, role, each, count


@kept_with_instance(most=PER_TIER)
def _kinds(tier: Tier, instance: Instance) -> tuple[_Kind, ...]:
    """List what a tier cannot do without, by job and role."""
    found: list[_Kind] = []
    for job, number in alike_jobs(instance, tier):
        for i, role, each, count in needed_roles(tier, instance, job):
            requests = instance.podsets[role.podsets[0]].requests
            found.append(((job.index, i), number, each, count, requests))
    return tuple(found)


@kept_with_instance(most=PER_TIER)
def _items(tier: Tier, instance: Instance, held: tuple[Tier, ...]) -> tuple[tuple[Item, int], ...]:
    """Items of a tier and their number, without those that a tier above counts as well."""
    others = {key for other in held for key, *_ in _kinds(other, instance)}
    counts: Counter[Item] = Counter()
    if tier.unit != "jobs":
        alike: Counter[tuple[int, Amounts]] = Counter()
        for key, number, each, count, requests in _kinds(tier, instance):
            if key not in others:
                alike[each, requests] += number * count
        return tuple((Item(*kind), count) for kind, count in alike.items())
    whole: dict[tuple[int, int], list[int]] = {}
    for key, number, _, count, requests in _kinds(tier, instance):
        if key not in others:
            sums = whole.get((key[0], number), [0] * len(requests))
            more = zip(sums, requests, strict=True)
            whole[key[0], number] = [had + count * amount for had, amount in more]
    for (_, number), sums in whole.items():
        counts[Item(1, tuple(sums))] += number
    return tuple(counts.items())


@kept_with_instance(most=PER_TIER)
def _priced(
    tier: Tier, instance: Instance, held: tuple[Tier, ...], multipliers: Amounts
) -> _Priced:
    priced = [
        (item.weight, sum(m * ask for m, ask in zip(multipliers, item.asks, strict=True)), count)
        for item, count in _items(tier, instance, held)
    ]
    # Two fractions of such weights differ by one over this at least: whole numbers compare them.
    scale = max((one for one, _, _ in priced), default=1) ** 2
    priced.sort(key=lambda item: (-(item[1] * scale // item[0]), item[0]))
    return _Priced(
        items=tuple(item for item in priced if item[1]),
        price=sum(price * count for _, price, count in priced),
        step=gcd(*(one for one, _, _ in priced)) or 1,
    )


@kept_with_instance(most=PER_TIER)
def _wanted(tier: Tier, instance: Instance, held: tuple[Tier, ...]) -> Amounts:
    """What the items of a tier ask for in all."""
    wanted = [0] * len(instance.resources)
    for item, count in _items(tier, instance, held):
        wanted = [had + count * ask for had, ask in zip(wanted, item.asks, strict=True)]
    return tuple(wanted)


@kept_with_instance(most=256)
def _mixtures(tier: Tier, instance: Instance, held: tuple[Tier, ...]) -> tuple[Amounts, ...]:
    """Multipliers worth trying: each scarce resource alone, and any two of them mixed."""
    offers = _offers(instance)
    wanted = list(_beside(tier, instance, held))
    for i, other in enumerate((*held, tier)):
        more = _wanted(other, instance, _overlapping(other, held[:i]))
        wanted = [had + ask for had, ask in zip(wanted, more, strict=True)]
    # No mixture says anything if there is enough of everything.
    short = [r for r, offer in enumerate(offers) if offer is not None and wanted[r] > offer]
    if not short:
        return ()
    scarce = sorted(
        (r for r, offer in enumerate(offers) if offer),
        key=lambda r: (-wanted[r] * 10**6 // (offers[r] or 1), r),
    )
    found = [_multipliers(len(offers), {r: 1}) for r in short]
    if len(held) > _MOST_MIXED:
        return tuple(found)
    for a, r in enumerate(scarce[:SCARCE]):
        for q in scarce[a + 1 : SCARCE]:
            for step in range(1, MIXTURES):
                # Each is priced by the other's amount, so that equal steps weigh all of it alike.
                mixture = {r: step * (offers[q] or 0), q: (MIXTURES - step) * (offers[r] or 0)}
                found.append(_multipliers(len(offers), mixture))
    return tuple(found)


def _multipliers(resources: int, of: Mapping[int, int]) -> Amounts:
    return tuple(of.get(r, 0) for r in range(resources))
