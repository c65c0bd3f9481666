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

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.step import Loads
from kantopt.verify.witness.groups import PriceGroup
from kantopt.verify.witness.multipliers import check_multipliers
from kantopt.verify.witness.node import Arriving, Leaving, Worth, best_change, proportions_of
from kantopt.verify.witness.placing import Multiplied, placing
from kantopt.verify.witness.rows import PriceRows, held


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


class OutOfTimeError(Exception):
    """A bound was not worked out to its end."""


def bound_by_prices(
    rows: PriceRows,
    denominator: int,
    values: Mapping[str, int],
    over: Callable[[], bool] = lambda: False,
) -> int:
    """Return the bound that follows from multipliers, by the names of their rows.

    Raises
    ------
    ValueError
        If a name is no row, or a number is below 0.
    OutOfTimeError
        If it was ``over``, which is asked node by node.
    """
    found = priced(rows, denominator, values, over)
    if found is None:
        raise OutOfTimeError
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
    check_multipliers(values, rows.names)
    by = Multiplied.of(rows, denominator, values)
    total = placing(rows, by, leaves=not any(by.prices)) - by.allowed
    changes: list[NodeChange] = []
    for change in _changes(rows, by) if any(by.prices) else ():
        if over():
            return None
        changes.append(change)
        total -= len(change.nodes) * change.gain
    return Priced(by.bound(rows, total), total, tuple(changes))


def _changes(rows: PriceRows, by: Multiplied) -> Iterator[NodeChange]:
    """Yield the best changes of all nodes, one after the other; alike ones together."""
    instance = rows.merged.instance
    costs = []
    stays = []
    for i in range(len(rows.groups)):
        costs.append(by.leaving(rows, i) + by.prices[i])
        stays.append(not rows.groups[i].leaves or held(rows, i))
    nodes = _Nodes(instance, rows.groups, by.prices, costs, stays)
    alike: dict[object, list[int]] = {}
    for n in range(len(instance.nodes)):
        alike.setdefault(nodes.signature(n), []).append(n)
    for members in alike.values():
        yield nodes.change(tuple(members))


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
