"""Nodes that are alike, counted together: what they offer and which pods they admit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from kantopt.cp.relaxed.kinds import Kinds, PodKind
from kantopt.problem.cluster import Node
from kantopt.problem.instance import Instance
from kantopt.problem.node_room import node_room
from kantopt.schema.model import Rule
from kantopt.verify.step import Loads, left_of

MOST_SETS = 8
"""Sets of admitted nodes that tell classes apart, those of the most pods; others count loosely."""
MOST_ROOMS = 60_000
"""Pairs of a kind of pods and a kind of node for which the room is worked out."""

_OF_GPUS = 2
"""Of the shapes by which nodes are alike the finest in coarse classes: that of the same GPUs."""


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that admit the same pods.

    ``offers`` are its different nodes and how many of each there are. A node offers what it has
    or what is taken of it now, whichever is more, for what is overcommitted may stay so; less
    what pods take that stay for certain.
    """

    index: int
    nodes: tuple[int, ...]
    offers: tuple[tuple[Node, int], ...]


class Classes:
    """The nodes of an instance as classes, as fine as a number of counts allows.

    Parameters
    ----------
    instance, kinds
        The question and its kinds of pods.
    standing
        What running pods take now.
    most
        Most pairs of a class and a kind of pods: coarser classes are taken beyond.
    region
        Nodes for which this differs are never in one class.
    coarse
        Take as one what has the same GPUs, however few classes that makes.
    """

    def __init__(
        self,
        instance: Instance,
        kinds: Kinds,
        standing: Loads,
        most: int,
        *,
        region: Callable[[int], Hashable] = lambda _: None,
        coarse: bool = False,
    ) -> None:
        self.instance = instance
        self.kinds = kinds
        self.offers = _offers(instance, kinds, standing)
        """Each node with what it offers in place of its capacity."""
        self._admitted: dict[tuple[int, int], bool] = {}
        self.classes: tuple[NodeClass, ...] = ()
        signature = self._signatures()
        shapes: tuple[Callable[[int], Hashable], ...] = (
            lambda n: (signature[n], self.offers[n].capacity, self.offers[n].devices),
            lambda n: (signature[n], instance.nodes[n].capacity, instance.nodes[n].devices),
            lambda n: (signature[n], instance.nodes[n].gpu_milli, len(instance.nodes[n].devices)),
            lambda n: signature[n],
            lambda n: None,
        )
        chosen, finest = list[list[int]](), 0
        for i, shape in enumerate(shapes):
            chosen = self._alike(region, shape)
            few = len(chosen) * len(kinds.pods) <= most
            finest = finest or (len(chosen) if few or shape is shapes[-1] else 0)
            if finest and (i >= _OF_GPUS or not coarse):
                break
        self.finest = len(chosen) == finest
        """Whether no finer classes are few enough."""
        self.classes = tuple(
            NodeClass(i, tuple(nodes), self._distinct(nodes)) for i, nodes in enumerate(chosen)
        )
        self.class_of = {n: c.index for c in self.classes for n in c.nodes}
        shapes_in_all = sum(len(c.offers) for c in self.classes)
        self._rooms = shapes_in_all * len(kinds.pods) <= MOST_ROOMS

    def _alike(self, *keys: Callable[[int], Hashable]) -> list[list[int]]:
        groups: dict[Hashable, list[int]] = {}
        for n in range(len(self.instance.nodes)):
            groups.setdefault(tuple(key(n) for key in keys), []).append(n)
        return list(groups.values())

    def _signatures(self) -> list[Hashable]:
        """Which of the sets of admitted nodes that matter most each node is in."""
        weight: Counter[int] = Counter()
        sets: dict[int, frozenset[int]] = {}
        if self.instance.on(Rule.ELIGIBILITY):
            for kind in self.kinds.pods:
                if kind.arrives:
                    sets[id(kind.one.allowed)] = kind.one.allowed
                    weight[id(kind.one.allowed)] += kind.count
        chosen = [sets[key] for key, _ in weight.most_common(MOST_SETS)]
        return [tuple(n in nodes for nodes in chosen) for n in range(len(self.instance.nodes))]

    def _distinct(self, nodes: list[int]) -> tuple[tuple[Node, int], ...]:
        groups: dict[Hashable, list[int]] = {}
        for n in nodes:
            offer = self.offers[n]
            groups.setdefault((offer.capacity, offer.devices), []).append(n)
        return tuple((self.offers[same[0]], len(same)) for same in groups.values())

    def standing(self, kind: PodKind) -> dict[int, int]:
        """Pods of a kind that run in each class now."""
        found: dict[int, int] = {}
        for s in kind.podsets:
            for spot, pods in self.instance.podsets[s].current.items():
                c = self.class_of[spot.node]
                found[c] = found.get(c, 0) + pods
        return found

    def _admits(self, allowed: frozenset[int], c: NodeClass) -> bool:
        key = (id(allowed), c.index)
        if key not in self._admitted:
            off = not self.instance.on(Rule.ELIGIBILITY)
            self._admitted[key] = off or not allowed.isdisjoint(c.nodes)
        return self._admitted[key]

    def room(self, kind: PodKind, c: NodeClass) -> int:
        """Most pods of a kind that could arrive in a class, if nothing else were there."""
        instance, podset = self.instance, kind.one
        if not kind.arrives:
            return 0
        if not self._admits(podset.allowed, c):
            return 0
        if not self._rooms:
            return kind.count
        needs = podset.devices if instance.on(Rule.DEVICES) else ()
        room = 0
        for node, number in c.offers:
            room += number * node_room(
                node, podset.requests, needs, kind.count, capacity=instance.on(Rule.CAPACITY)
            )
            if room >= kind.count:
                return kind.count
        return room


def _offers(instance: Instance, kinds: Kinds, standing: Loads) -> list[Node]:
    """Each node with what it offers in place of its capacity."""
    fixed = Loads(instance)
    for kind in kinds.pods:
        if kind.fixed:
            for s in kind.podsets:
                for spot, pods in instance.podsets[s].current.items():
                    fixed.add(s, spot, pods)
    return [left_of(node, standing, fixed) for node in instance.nodes]
