"""A bound from multipliers: Lagrangian relaxation, exact in integers.

A plan within the locks says of each group of pods how many are placed, leave a node and arrive on
one; placed ones are those that run, less those that leave, plus those that arrive. With any
multiplier from 0 on for each row - prices ``p`` of the pods of a group, ``u`` of what a capacity
row limits, ``k`` of what a lock limits -

    D * tier >= sum over jobs of the least that placing, evicting or leaving out its pods costs
                - sum over nodes of the most that a change of the node gains at prices p
                - sum over capacity rows of u * limit - sum over locks of k * limit,

``D`` being the denominator (Geoffrion 1974). Each term is worked out by itself, none approximately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from kantopt.problem.classes import Merged
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.step import Loads
from kantopt.verify.witness.capacity import CapacityRow, capacity_rows
from kantopt.verify.witness.groups import (
    PriceGroup,
    all_or_nothing,
    by_job,
    groups_of,
    merged_of,
)
from kantopt.verify.witness.node import Arriving, Leaving, Worth, best_change, proportions_of
from kantopt.verify.witness.sums import Sum, least_placed, limits_of, sum_of


@dataclass(frozen=True, slots=True)
class PriceRows:
    """What multipliers can be given to, and what holds of it within the locks.

    Attributes
    ----------
    tier
        The tier that is bounded.
    merged
        The question with alike pods counted together.
    groups
        Its groups of pods; each has a row of its name.
    objective
        The tier as a sum over groups and jobs.
    locks
        Sums that are limited, by the names of their rows.
    capacity
        What all pods together have, by the names of the rows.
    least
        Pods of each group that are placed in any case.
    """

    tier: Tier
    merged: Merged
    groups: tuple[PriceGroup, ...]
    objective: Sum
    locks: Mapping[str, Sum]
    capacity: Mapping[str, CapacityRow]
    least: tuple[int, ...]

    @property
    def names(self) -> set[str]:
        """Names of all rows."""
        return {group.name for group in self.groups} | self.locks.keys() | self.capacity.keys()

    @property
    def step(self) -> int:
        """What every value of the tier is a multiple of."""
        goal = self.objective
        each = (*goal.missing, *goal.evicted, *goal.out, *goal.placed, *goal.unplaced.values())
        return gcd(goal.constant, *each) or 1


def price_rows(
    instance: Instance, tiers: Sequence[Tier], i: int, locks: Mapping[Tier, int]
) -> PriceRows | None:
    """Return the rows that bound tier ``i``; ``None`` if the tier is no sum over pods and jobs.

    Parameters
    ----------
    instance, tiers
        The question.
    locks
        Values of tiers above: the bound is for plans that are no worse in them.
    """
    merged = merged_of(instance)
    alike = dict(zip(tiers, merged.tiers(tiers), strict=True))
    groups = groups_of(merged)
    objective = sum_of(alike[tiers[i]], merged.instance, groups, 0)
    if objective is None:
        return None
    sums = dict(limits_of(merged.instance, groups))
    for tier, value in locks.items():
        row = sum_of(alike[tier], merged.instance, groups, tier.most(value))
        if row is not None:
            sums[f"tier {tier.name}"] = row
    least = least_placed(merged.instance, groups, list(sums.values()))
    capacity = capacity_rows(merged.instance, groups)
    return PriceRows(tiers[i], merged, groups, objective, sums, capacity, least)


@dataclass(frozen=True, slots=True)
class NodeChange:
    """Nodes that are alike, the most that a change of one gains, and a change that comes near.

    ``outs`` and ``ins`` count the pods of groups, by index.
    """

    nodes: tuple[int, ...]
    gain: int
    outs: Mapping[int, int]
    ins: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Priced:
    """A bound, the sum that it is rounded up from, and the changes of nodes behind it."""

    bound: int
    total: int
    changes: tuple[NodeChange, ...]


def bound_by_prices(rows: PriceRows, denominator: int, values: Mapping[str, int]) -> int:
    """Return the bound that follows from multipliers, by the names of their rows.

    Raises
    ------
    ValueError
        If a name is no row, or a number is below 0.
    """
    found = priced(rows, denominator, values, lambda: False)
    assert found is not None
    return found.bound


def priced(
    rows: PriceRows, denominator: int, values: Mapping[str, int], over: Callable[[], bool]
) -> Priced | None:
    """Work out what multipliers prove, by the names of their rows.

    ``None`` if it was ``over``, which is asked node by node.

    Raises
    ------
    ValueError
        If a name is no row, or a number is below 0.
    """
    names = rows.names
    for name, value in values.items():
        if name not in names:
            raise ValueError(f"{name} is no row of this bound")
        if value < 0:
            raise ValueError(f"{name} counts {value} times: rows count 0 times or more")
    prices = [values.get(group.name, 0) for group in rows.groups]
    weights = [(values.get(name, 0), row) for name, row in rows.locks.items()]
    counted = [(values.get(name, 0), row) for name, row in rows.capacity.items()]
    allowed = sum(k * row.limit for k, row in weights) + sum(u * row.limit for u, row in counted)
    total = _placing(rows, denominator, prices, weights, counted) - allowed
    changes: list[NodeChange] = []
    for change in _changes(rows, denominator, prices, weights) if any(prices) else ():
        if over():
            return None
        changes.append(change)
        total -= len(change.nodes) * change.gain
    unit = denominator * rows.step
    bound = rows.tier.above_target(max(0, -(-total // unit) * rows.step))
    return Priced(bound, total, tuple(changes))


Weights = Sequence[tuple[int, Sum]]


def _placing(
    rows: PriceRows,
    scale: int,
    prices: Sequence[int],
    weights: Weights,
    counted: Sequence[tuple[int, CapacityRow]],
) -> int:
    """Least that placing, evicting and leaving out pods costs over all jobs."""
    sums = [(k, row) for k, row in [(scale, rows.objective), *weights] if k]
    room = [0] * len(rows.groups)
    for u, capacity in counted:
        if u:
            for i, weight in capacity.weights.items():
                room[i] += u * weight
    total = sum(k * row.constant for k, row in sums)
    instance = rows.merged.instance
    for j, members in by_job(instance, rows.groups).items():
        costs = [
            _Cost(
                rows.groups[i],
                rows.least[i],
                prices[i],
                room[i],
                [(k, row, i) for k, row in sums],
                # Where nodes are not looked at, an evicted pod counts as one that left.
                leaves=not any(prices),
            )
            for i in members
        ]
        left_out = sum(k * row.unplaced.get(j, 0) for k, row in sums)
        placed = sum(
            cost.least(rows.groups[i].need) for i, cost in zip(members, costs, strict=True)
        )
        if not all_or_nothing(instance, instance.jobs[j]):
            total += min(placed, left_out + sum(cost.least(0) for cost in costs))
        elif any(rows.least[i] for i in members):
            total += placed
        else:
            total += min(placed, left_out + sum(cost.at(0) for cost in costs))
    return total


class _Cost:
    """What it costs to have so many pods of a group placed."""

    def __init__(
        self,
        group: PriceGroup,
        least: int,
        price: int,
        room: int,
        sums: Sequence[tuple[int, Sum, int]],
        *,
        leaves: bool,
    ) -> None:
        self._group = group
        self._least = least
        self._evicted = self._each = 0
        self._constant = -price * group.running
        self._each = price + room
        self._missing: list[tuple[int, int]] = []
        for k, row, i in sums:
            self._evicted += k * (row.evicted[i] + (row.out[i] if leaves else 0))
            self._each -= k * row.placed[i]
            if row.missing[i]:
                self._missing.append((k * row.missing[i], row.wanted[i]))

    def at(self, placed: int) -> int:
        """Return the cost of a number of pods placed."""
        cost = self._constant + self._each * placed
        cost += self._evicted * max(0, self._group.running - placed)
        return cost + sum(each * max(0, wanted - placed) for each, wanted in self._missing)

    def least(self, at_least: int) -> int:
        """Return the least cost with so many pods placed at least.

        The cost is linear between the numbers at which something begins to count.
        """
        low, high = max(self._least, at_least), self._group.count
        turns = {low, high, self._group.running, *(wanted for _, wanted in self._missing)}
        return min(self.at(placed) for placed in turns if low <= placed <= high)


def _changes(
    rows: PriceRows, scale: int, prices: Sequence[int], weights: Weights
) -> Iterator[NodeChange]:
    """Yield the best changes of all nodes, one after the other; alike ones together."""
    instance = rows.merged.instance
    costs = []
    stays = []
    for i in range(len(rows.groups)):
        out = scale * rows.objective.out[i] + sum(k * row.out[i] for k, row in weights)
        costs.append(out + prices[i])
        stays.append(not rows.groups[i].leaves or _held(rows, i))
    nodes = _Nodes(instance, rows.groups, prices, costs, stays)
    alike: dict[object, list[int]] = {}
    for n in range(len(instance.nodes)):
        alike.setdefault(nodes.signature(n), []).append(n)
    for members in alike.values():
        yield nodes.change(tuple(members))


def _held(rows: PriceRows, i: int) -> bool:
    """Whether a lock lets no pod of a group leave its node."""
    group = rows.groups[i]
    return any(
        row.out[i] > row.limit and (row.evicted[i] >= 0 or rows.least[i] >= group.running)
        for row in rows.locks.values()
    )


class _Nodes:
    """The nodes with what may leave and what may arrive."""

    def __init__(
        self,
        instance: Instance,
        groups: Sequence[PriceGroup],
        prices: Sequence[int],
        costs: Sequence[int],
        stays: Sequence[bool],
    ) -> None:
        self.instance = instance
        self.resources = [
            r
            for r in range(len(instance.resources))
            if instance.on(Rule.CAPACITY) and any(node.capacity[r] for node in instance.nodes)
        ]
        self.standing = Loads.of(instance, instance.current).node
        self.asks = [
            tuple(instance.podsets[group.podsets[0]].requests[r] for r in self.resources)
            for group in groups
        ]
        self.priced = [i for i, price in enumerate(prices) if price and groups[i].arriving]
        self.leaving: list[list[tuple[int, int]]] = [[] for _ in instance.nodes]
        for i, group in enumerate(groups):
            if not stays[i]:
                for n, pods in group.home.items():
                    self.leaving[n].append((i, pods))
        self.groups, self.prices, self.costs = groups, prices, costs

    def _free(self, n: int) -> tuple[int, ...]:
        """What is free of each resource; of one without limit, as much as all could ask for."""
        node = self.instance.nodes[n]
        free = []
        for k, r in enumerate(self.resources):
            limit = node.capacity[r]
            if limit is None:
                wanted = sum(
                    self.groups[i].arriving * self.asks[i][k] for i in range(len(self.groups))
                )
                free.append(wanted)
            else:
                free.append(limit - self.standing[n][r])
        return tuple(free)

    def _welcome(self, n: int) -> list[int]:
        if not self.instance.on(Rule.ELIGIBILITY):
            return self.priced
        return [
            i
            for i in self.priced
            if any(n in self.instance.podsets[s].allowed for s in self.groups[i].podsets)
        ]

    def signature(self, n: int) -> object:
        """What tells the gain of a node from that of others."""
        here = tuple((i, self.groups[i].home.get(n, 0)) for i in self._welcome(n))
        return self._free(n), tuple(self.leaving[n]), here

    def change(self, members: tuple[int, ...]) -> NodeChange:
        """Return the best change of nodes that are alike."""
        n = members[0]
        free = self._free(n)
        room = tuple(
            max(0, have + sum(pods * self.asks[i][k] for i, pods in self.leaving[n]))
            for k, have in enumerate(free)
        )
        arriving, freely, ins = [], 0, {}
        for i in self._welcome(n):
            ask = self.asks[i]
            if all(a <= r for a, r in zip(ask, room, strict=True)):
                pods = self.groups[i].arriving - self.groups[i].home.get(n, 0)
                if pods <= 0:
                    continue
                if any(ask):
                    arriving.append((i, Arriving(self.prices[i], ask, pods)))
                else:
                    freely += pods * self.prices[i]
                    ins[i] = pods
        if not arriving:
            return NodeChange(members, freely, {}, ins)
        proportions = proportions_of([pod for _, pod in arriving], room)
        weights = proportions[0]
        arriving.sort(
            key=lambda item: (
                -item[1].price
                * 10**9
                // sum(w * a for w, a in zip(weights, item[1].ask, strict=True))
            )
        )
        able = [pod for _, pod in arriving]
        going = [(i, count) for i, count in self.leaving[n] if any(self.asks[i])]
        leaving = [Leaving(self.costs[i], self.asks[i], count) for i, count in going]
        best = best_change(free, leaving, able, Worth(able, proportions))
        outs = {i: k for (i, _), k in zip(going, best.outs, strict=False) if k}
        ins |= {i: k for (i, _), k in zip(arriving, best.ins, strict=False) if k}
        return NodeChange(members, freely + best.gain, outs, ins)
