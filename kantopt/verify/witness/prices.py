"""A bound from prices of pods and of the tiers above: Lagrangian relaxation, node by node.

Each plan within the locks says of each group how many of its pods are placed, leave a node and
arrive on one; placed ones are those that run, less those that leave, plus those that arrive. With
any price ``p`` from 0 on for each group and any multiplier ``k`` from 0 on for each lock,

    D * tier >= sum over groups of the least of (what evictions, missing pods and p cost)
                - sum over nodes of the most that a change of it gains
                - sum over locks of k * limit,

``D`` being the denominator (Geoffrion 1974). Every term is worked out exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kantopt.problem.classes import Merged, merge_pods
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.step import Loads
from kantopt.verify.witness.groups import (
    PriceGroup,
    Sum,
    groups_of,
    least_placed,
    limits_of,
    sum_of,
)
from kantopt.verify.witness.node import Arriving, Leaving, Worth, most_gain, proportions_of


@dataclass(frozen=True, slots=True)
class PriceRows:
    """What prices can be given to: the groups, and what holds of them within the locks.

    Attributes
    ----------
    merged
        The question with alike pods counted together.
    groups
        Its groups; each has a row of its name.
    objective
        The tier as a sum over the groups.
    locks
        Sums that are limited, by the names of their rows.
    least
        Pods of each group that are placed in any case.
    """

    merged: Merged
    groups: tuple[PriceGroup, ...]
    objective: Sum
    locks: Mapping[str, Sum]
    least: tuple[int, ...]


def price_rows(
    instance: Instance, tiers: Sequence[Tier], i: int, locks: Mapping[Tier, int]
) -> PriceRows | None:
    """Return what prices for tier ``i`` are about; ``None`` if the tier is no sum over groups.

    Parameters
    ----------
    instance, tiers
        The question.
    locks
        Values of tiers above: the bound is for plans that are no worse in them.
    """
    merged = merge_pods(instance)
    alike = dict(zip(tiers, merged.tiers(tiers), strict=True))
    groups = groups_of(merged)
    objective = sum_of(alike[tiers[i]], merged.instance, groups, 0)
    if objective is None:
        return None
    sums = dict(limits_of(merged.instance, groups))
    for tier, value in locks.items():
        row = sum_of(alike[tier], merged.instance, groups, value)
        if row is not None:
            sums[f"tier {tier.name}"] = row
    above = {alike[tier]: value for tier, value in locks.items()}
    least = least_placed(merged.instance, groups, list(sums.values()), above)
    return PriceRows(merged, groups, objective, sums, least)


def bound_by_prices(rows: PriceRows, denominator: int, values: Mapping[str, int]) -> int:
    """Return the bound that follows from prices and multipliers, by the names of their rows.

    Raises
    ------
    ValueError
        If a name is no row, or a number is below 0.
    """
    names = {group.name for group in rows.groups} | rows.locks.keys()
    for name, value in values.items():
        if name not in names:
            raise ValueError(f"{name} is no row of this bound")
        if value < 0:
            raise ValueError(f"{name} counts {value} times: rows count 0 times or more")
    prices = [values.get(group.name, 0) for group in rows.groups]
    weights = [(values.get(name, 0), row) for name, row in rows.locks.items()]
    allowed = sum(k * row.limit for k, row in weights)
    total = _placing(rows, denominator, prices, weights) - allowed
    total -= _gains(rows, denominator, prices, weights)
    return max(0, -(-total // denominator))


Weights = Sequence[tuple[int, Sum]]


def _placing(rows: PriceRows, scale: int, prices: Sequence[int], weights: Weights) -> int:
    """Least that placing, evicting and leaving out pods costs over all groups."""
    total = 0
    for i, group in enumerate(rows.groups):
        evicted = scale * rows.objective.evicted[i] + sum(k * row.evicted[i] for k, row in weights)
        missing = scale * rows.objective.missing[i] + sum(k * row.missing[i] for k, row in weights)
        least = min(rows.least[i], group.count)
        # Linear on either side of the number that runs: the least is at an end or there.
        total += min(
            evicted * max(0, group.running - placed)
            + missing * (group.count - placed)
            + prices[i] * (placed - group.running)
            for placed in (least, max(least, group.running), group.count)
        )
    return total


def _gains(rows: PriceRows, scale: int, prices: Sequence[int], weights: Weights) -> int:
    """Most that changes of all nodes gain, one after the other."""
    instance = rows.merged.instance
    costs = []
    stays = []
    for i in range(len(rows.groups)):
        out = scale * rows.objective.out[i] + sum(k * row.out[i] for k, row in weights)
        costs.append(out + prices[i])
        stays.append(not rows.groups[i].leaves or _held(rows, i))
    nodes = _Nodes(instance, rows.groups, prices, costs, stays)
    known: dict[object, int] = {}
    total = 0
    for n in range(len(instance.nodes)):
        key = nodes.signature(n)
        if key not in known:
            known[key] = nodes.gain(n)
        total += known[key]
    return total


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

    def gain(self, n: int) -> int:
        """Most that a change of a node gains."""
        free = self._free(n)
        room = tuple(
            max(0, have + sum(pods * self.asks[i][k] for i, pods in self.leaving[n]))
            for k, have in enumerate(free)
        )
        arriving, freely = [], 0
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
        if not arriving:
            return freely
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
        leaving = [
            Leaving(self.costs[i], self.asks[i], count)
            for i, count in self.leaving[n]
            if any(self.asks[i])
        ]
        return freely + most_gain(free, leaving, able, Worth(able, proportions))
