"""A bound from what each domain could hold: prices of pods, and of each domain that a gang uses.

A plan within the locks puts some number of pods of each group into each region: a domain of a
level, or a node. With a multiplier from 0 on for each row - prices ``p`` of the pods of a group,
``q`` of the regions that a gang has pods of a group in, ``k`` and ``u`` of what locks and capacity
rows limit -

    D * tier >= sum over jobs of the least that placing, evicting or leaving out its pods costs,
                    less ``q * fewest`` where it is placed
                - sum over regions of the most that what they hold is worth
                - sum over locks of k * limit - sum over capacity rows of u * limit,

``D`` being the denominator. What a region holds is worth ``p`` for each pod, less ``q`` for each
group that is there, less what it costs that pods leave. The most of that is a knapsack, worked out
over all amounts of room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.witness.groups import by_job
from kantopt.verify.witness.multipliers import check_multipliers
from kantopt.verify.witness.placing import Multiplied, placing
from kantopt.verify.witness.regions import Choice, Region, Spread, View, regions_of, spreads_of
from kantopt.verify.witness.rows import PriceRows, price_rows

MOST = 2**61
"""Amounts from here on are not reckoned with."""


class ReckoningError(ValueError):
    """What the numbers of this kind of bound cannot be worked out from, true or not."""


Gains = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DomainRows:
    """Rows of pods and tiers, the regions, and the gangs that count for those that they use.

    ``lots`` are the gangs by the tier that counts them; ``limits`` the most of such tiers that are
    locks, by the names of their rows.
    """

    rows: PriceRows
    regions: tuple[Region, ...]
    counted: bool
    """Whether it is the tier itself that counts regions."""
    lots: Mapping[str, tuple[Spread, ...]]
    limits: Mapping[str, int]

    def row_of(self, lot: str, i: int) -> str:
        """Name the row of the regions that pods of a group are in, as a tier counts them."""
        return f"{lot} of {self.rows.groups[i].name.removeprefix('pods ')}"

    @property
    def names(self) -> set[str]:
        """Names of all rows."""
        each = {
            self.row_of(lot, i)
            for lot, spreads in self.lots.items()
            for spread in spreads
            for i in spread.groups
        }
        return self.rows.names | self.limits.keys() | each


@dataclass(frozen=True, slots=True)
class Held:
    """What a region holds at best: pods of groups by index, and what these are worth."""

    gain: int
    pods: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Valued:
    """A bound, the sum that it is rounded up from, and what the regions hold at those prices."""

    bound: int
    total: int
    held: tuple[Held, ...]


def domain_rows(
    instance: Instance, tiers: Sequence[Tier], i: int, locks: Mapping[Tier, int], view: View
) -> DomainRows:
    """Return the rows that bound tier ``i`` by what regions could hold.

    Raises
    ------
    ValueError
        If the tier is neither a sum over pods and jobs nor counts such regions, or there are no
        such regions.
    """
    rows = price_rows(instance, tiers, i, locks, bare=True)
    assert rows is not None
    merged = rows.merged
    alike = dict(zip(tiers, merged.tiers(tiers), strict=True))
    lots = {}
    limits = {}
    for tier in (*locks, tiers[i]):
        spreads = spreads_of(merged.instance, alike[tier], rows.groups, view.level)
        if spreads:
            lots[tier.name] = spreads
            if tier != tiers[i]:
                limits[f"tier {tier.name}"] = tier.most(locks[tier])
    counted = tiers[i].name in lots
    if not counted and rows.is_bare:
        raise ValueError(f"{tiers[i].name} counts no regions of level {view.level}")
    return DomainRows(rows, regions_of(rows, view), counted, lots, limits)


def bound_by_domains(
    instance: Instance,
    tiers: Sequence[Tier],
    i: int,
    locks: Mapping[Tier, int],
    view: View,
    denominator: int,
    values: Mapping[str, int],
) -> int:
    """Return the bound on tier ``i`` that follows from multipliers, by the names of their rows.

    Raises
    ------
    ValueError
        If there are no such regions, a name is no row, or a number is out of range.
    """
    found = valued(domain_rows(instance, tiers, i, locks, view), denominator, values, lambda: False)
    assert found is not None
    return found.bound


def valued(
    domains: DomainRows, denominator: int, values: Mapping[str, int], over: Callable[[], bool]
) -> Valued | None:
    """Work out what multipliers prove; ``None`` if it was ``over``, asked region by region.

    Raises
    ------
    ValueError
        If a name is no row, a number is out of range, or the regions of a gang are counted more
        often than the tier that they are of.
    """
    check_multipliers(values, domains.names)
    rows = domains.rows
    groups = rows.groups
    by = Multiplied.of(rows, denominator, values)
    allowed = by.allowed
    allowed += sum(values.get(name, 0) * limit for name, limit in domains.limits.items())
    fees, worth = _fees(domains, denominator, values)
    total = placing(rows, by, leaves=False, worth=worth)
    # There every pod placed has paid, less those that run; here those that run are paid for too.
    total += sum(price * group.running for price, group in zip(by.prices, groups, strict=True))
    total -= allowed
    out = [by.leaving(rows, i) for i in range(len(groups))]
    knapsacks = _Knapsacks(by.prices, fees, out)
    found: list[Held] = []
    for region in domains.regions:
        if over():
            return None
        found.append(knapsacks.best(region))
        total -= found[-1].gain
    return Valued(by.bound(rows, total), total, tuple(found))


def _fees(
    domains: DomainRows, denominator: int, values: Mapping[str, int]
) -> tuple[list[int], dict[int, int]]:
    """Return what a region that is used costs by group, and what fewest regions are worth by job.

    A gang uses at least as many regions as its pods of any one group do, and as any mean of those:
    hence no more in all than the tier counts.
    """
    fees = [0] * len(domains.rows.groups)
    worth: dict[int, int] = {}
    for lot, spreads in domains.lots.items():
        lock = f"tier {lot}"
        most = values.get(lock, 0) if lock in domains.limits else denominator
        for spread in spreads:
            each = {i: values.get(domains.row_of(lot, i), 0) for i in spread.groups}
            if sum(each.values()) > most:
                name = domains.row_of(lot, spread.groups[0])
                raise ValueError(f"{name} counts more often than {lot} does")
            for i, fee in each.items():
                fees[i] += fee
                if fee:
                    worth[spread.job] = worth.get(spread.job, 0) + fee * spread.fewest
    assert by_job(domains.rows.merged.instance, domains.rows.groups).keys() >= worth.keys()
    return fees, worth


class _Knapsacks:
    """What regions hold at best, at prices of pods, fees of groups and costs of leaving."""

    def __init__(self, prices: Sequence[int], fees: Sequence[int], out: Sequence[int]) -> None:
        self._prices, self._fees, self._out = prices, fees, out
        self._shared: dict[object, _Table] = {}

    def best(self, region: Region) -> Held:
        """Return what is worth most in a region."""
        strangers: list[tuple[Choice, list[int]]] = []
        residents: list[tuple[Choice, list[int]]] = []
        pods: dict[int, int] = {}
        freely = 0
        for choice in region.choices:
            gains = self._gains(choice)
            if not choice.size:
                freely += max(gains)
                pods[choice.group] = choice.pods[gains.index(max(gains))]
            elif choice.home or choice.pods[0]:
                residents.append((choice, gains))
            elif max(gains) > 0:
                strangers.append((choice, gains))
        # Which strangers could come is the same for many regions: worked out once.
        key = (
            region.room,
            *((choice.group, min(choice.pods[-1], region.room)) for choice, _ in strangers),
        )
        if key not in self._shared:
            self._shared[key] = _Table(region.room, strangers)
        held = self._shared[key].then(residents)
        return Held(held.gain + freely, {i: k for i, k in (*pods.items(), *held.pods.items()) if k})

    def _gains(self, choice: Choice) -> list[int]:
        i = choice.group
        gains = [
            self._prices[i] * k
            - (self._fees[i] if k else 0)
            - self._out[i] * max(0, choice.home - k)
            for k in choice.pods
        ]
        if max(map(abs, gains)) >= MOST // (4 + 4 * len(self._prices)):
            raise ReckoningError("multipliers are too large to be reckoned with")
        return gains


class _Table:
    """The most that choices are worth, for each amount of room up to some."""

    def __init__(self, room: int, choices: Sequence[tuple[Choice, list[int]]]) -> None:
        self._room = room
        self._best: Gains = np.zeros(room + 1, dtype=np.int64)
        self._taken: list[tuple[Choice, Gains]] = []
        for choice, gains in choices:
            self._take(choice, gains)

    def _take(self, choice: Choice, gains: Sequence[int]) -> None:
        best = np.full(self._room + 1, -MOST, dtype=np.int64)
        taken = np.zeros(self._room + 1, dtype=np.int64)
        for k, gain in zip(choice.pods, gains, strict=True):
            used = k * choice.size
            if used > self._room:
                break
            here = self._best[: self._room + 1 - used] + gain
            better = here > best[used:]
            best[used:][better] = here[better]
            taken[used:][better] = k
        self._best = best
        self._taken.append((choice, taken))

    def then(self, choices: Sequence[tuple[Choice, list[int]]]) -> Held:
        """Return what is best where some choices must be made besides."""
        best, taken = self._best, list(self._taken)
        more = _Table(self._room, ())
        more._best, more._taken = best, taken
        for choice, gains in choices:
            more._take(choice, gains)
        room, pods = self._room, {}
        gain = int(more._best[room])
        if gain <= -MOST // 2:
            raise ReckoningError("a region has no room for what must stay there")
        for choice, counts in reversed(more._taken):
            k = int(counts[room])
            pods[choice.group] = k
            room -= k * choice.size
        return Held(gain, pods)
