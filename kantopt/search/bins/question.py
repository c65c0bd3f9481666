"""What a tier of unplaced pods asks of the nodes, and nothing else: sizes, rooms, numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from kantopt.cp.masters.covering import Demand
from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.search.bins.choosing import chosen
from kantopt.search.bins.contents import SpentError, Work, by_size, nearly_full
from kantopt.search.bins.leaving import left_out
from kantopt.search.bins.packing import Filled, pack
from kantopt.search.shapes import Ints
from kantopt.verify.step import Loads
from kantopt.verify.witness.shares import counts_pods

MOST_KINDS = MOST_NODES = 256
"""Most kinds of pods, and most nodes, that are looked at."""
MOST_LISTED = 30_000_000
"""Most numbers that contents to choose from may have: four bytes each while they are priced."""
MOST_CLASSES = 8
"""Most classes of nodes: of many the contents are too many."""


@dataclass(frozen=True, slots=True)
class Question:
    """Pods by kind and nodes by class.

    Attributes
    ----------
    podsets
        Pod sets of each kind, those that run first; the kinds tier by tier, large ones first.
    pending
        Pods of each kind that run nowhere yet.
    weights, asks, counts
        What a pod of each kind counts in its tier and asks for; the number of pods.
    tiers
        Kinds of each tier, the last of which is asked about.
    rooms, nodes
        What a node of each class has, and the nodes by index.
    """

    podsets: tuple[tuple[int, ...], ...]
    pending: Ints
    weights: tuple[int, ...]
    asks: Ints
    counts: Ints
    tiers: tuple[range, ...]
    rooms: Ints
    nodes: tuple[tuple[int, ...], ...]

    def fill(self, most: Sequence[int], work: Work, *, evict: bool = True) -> list[Filled] | None:
        """Place all pods but for so much of each tier; ``None`` if there is no way.

        Unless told to ``evict`` only pods that run nowhere are left out.

        Raises
        ------
        SpentError
            If it takes too much work to say.
        """
        numbers = np.array([len(nodes) for nodes in self.nodes], dtype=np.int64)
        short = self.counts @ self.asks - numbers @ self.rooms
        some = self.counts if evict else self.pending
        for out in left_out(self.weights, self.asks, some, self.tiers, most, short, work):
            found = pack(self.asks, self.counts - out, self.rooms, numbers.tolist(), work)
            if found is not None:
                return found
        return None

    def choose(
        self, least: Sequence[int], share: float, seconds: float, work: Work
    ) -> list[Filled] | None:
        """Choose among contents that leave no more than a share of their node free.

        Returns
        -------
        list[Filled] or None
            Contents of nodes which hold so much of each tier at least, and of the last as much as
            was found within some seconds; ``None`` if nothing was found.

        Raises
        ------
        SpentError
            If there are too many such contents.
        """
        order = by_size(self.asks, self.rooms.max(axis=0).tolist())
        listed = [
            nearly_full(
                self.asks[order], self.counts[order], room, (room * share).astype(np.int64), work
            )[0][:, np.argsort(order)]
            for room in self.rooms
        ]
        if sum(table.size for table in listed) > MOST_LISTED:
            raise SpentError
        demand = Demand(
            list(map(len, self.nodes)), self.counts.tolist(), self.weights, self.tiers, least
        )
        return chosen(listed, demand, seconds, work.over)

    def next_weight(self, weight: int) -> int:
        """Return the least above some weight that pods of the last tier could have together."""
        step = gcd(*(self.weights[g] for g in self.tiers[-1])) or 1
        return (weight // step + 1) * step

    def contents(self, placement: Placement) -> dict[int, Ints]:
        """Pods of each kind by node."""
        found = {n: np.zeros_like(self.counts) for nodes in self.nodes for n in nodes}
        for k, podsets in enumerate(self.podsets):
            for s in podsets:
                for spot, pods in placement.podsets[s].items():
                    found[spot.node][k] += pods
        return found

    def part(self, nodes: Collection[int], counts: Ints) -> Question:
        """Return the question of some of the nodes and so many of the pods."""
        some = tuple(tuple(n for n in each if n in nodes) for each in self.nodes)
        return replace(self, nodes=some, counts=counts)


def question(instance: Instance, tiers: Sequence[Tier]) -> Question | None:
    """Return what the last of some tiers of ``unplaced`` asks, given those before it.

    ``None`` if a tier counts other things than pods, a pod is worth nothing by itself or shares
    devices, there is room for all, or there is too much of everything.
    """
    small = len(instance.nodes) <= MOST_NODES and instance.on(Rule.CAPACITY)
    if not small or not all(counts_pods(tier) for tier in tiers):
        return None
    kinds: dict[tuple[int, int, Amounts], list[int]] = {}
    for podset in sorted(instance.podsets, key=lambda podset: not podset.running):
        t = _tier_of(instance, podset, tiers)
        if t is None:
            continue
        if instance.jobs[podset.job].is_gang or podset.devices:
            return None
        kinds.setdefault((t, tiers[t].weight(podset), podset.requests), []).append(podset.index)
    rooms = _rooms(instance)
    if not 0 < len(kinds) <= MOST_KINDS or len(rooms) > MOST_CLASSES:
        return None
    counts = {key: instance.pods_of(kinds[key]) for key in kinds}
    waiting = {s.index: 0 if s.running else s.count for s in instance.podsets}
    pending = {key: sum(waiting[s] for s in kinds[key]) for key in kinds}
    limited = _limited(rooms, counts)
    if not limited:
        return None
    share = {
        key: max(key[2][r] / max(1, *(room[r] or 0 for room in rooms)) for r in limited)
        for key in kinds
    }
    ordered = sorted(kinds, key=lambda key: (key[0], -share[key], key))
    number = Counter(t for t, _, _ in ordered)
    starts = [sum(number[u] for u in range(t)) for t in range(len(tiers))]
    return Question(
        podsets=tuple(tuple(kinds[key]) for key in ordered),
        pending=np.array([pending[key] for key in ordered], dtype=np.int64),
        weights=tuple(each for _, each, _ in ordered),
        asks=np.array([[asks[r] for r in limited] for _, _, asks in ordered], dtype=np.int64),
        counts=np.array([counts[key] for key in ordered], dtype=np.int64),
        tiers=tuple(range(a, a + number[t]) for t, a in enumerate(starts)),
        rooms=np.array([[room[r] for r in limited] for room in rooms], dtype=np.int64),
        nodes=tuple(tuple(nodes) for nodes in rooms.values()),
    )


def _tier_of(instance: Instance, podset: PodSet, tiers: Sequence[Tier]) -> int | None:
    """Return the first tier, by position, that a pod of a pod set counts in."""
    job = instance.jobs[podset.job]
    for t, tier in enumerate(tiers):
        if tier.concerns(job) and tier.weight(podset):
            return t
    return None


def _rooms(instance: Instance) -> dict[tuple[int | None, ...], list[int]]:
    """Nodes by what they have; what is overcommitted now may stay so."""
    standing = Loads.of(instance, instance.current).node
    rooms: dict[tuple[int | None, ...], list[int]] = {}
    for node in instance.nodes:
        room = tuple(
            None if limit is None else max(limit, taken)
            for limit, taken in zip(node.capacity, standing[node.index], strict=True)
        )
        rooms.setdefault(room, []).append(node.index)
    return rooms


def _limited(
    rooms: Collection[tuple[int | None, ...]], counts: Mapping[tuple[int, int, Amounts], int]
) -> list[int]:
    """Resources of which some node has less than all pods together ask for."""
    found = []
    for r in range(len(next(iter(counts))[2])):
        total = sum(count * asks[r] for (_, _, asks), count in counts.items())
        offers = [room[r] for room in rooms]
        if None not in offers and min(offer or 0 for offer in offers) < total:
            found.append(r)
    return found
