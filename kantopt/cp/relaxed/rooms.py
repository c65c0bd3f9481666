"""What there is for pods to arrive in on some node, once some others have left it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from math import comb

from kantopt.cp.relaxed.kinds import PodKind
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.step import Loads

MOST_CHOICES = 2_000
"""Most choices of pods that leave together which are looked at one by one."""

Vector = tuple[int, ...]
"""An amount of each limited resource, of nodes or of all devices of a class on a node."""


class Rooms:
    """Largest amounts that are free on some node after so many departures.

    Devices of a class count together, and beyond so many choices of departing pods the largest
    amounts of each resource do: there may be more room here than there is, never less.

    Parameters
    ----------
    instance, standing
        The question and what running pods take now.
    leaving
        Kinds of the running pods that could leave their places.
    """

    def __init__(self, instance: Instance, standing: Loads, leaving: Iterable[PodKind]) -> None:
        self._instance = instance
        on_nodes = instance.on(Rule.CAPACITY)
        self._resources = [r for r in range(len(instance.resources)) if on_nodes]
        classes = {d.device_class for node in instance.nodes for d in node.devices}
        self._devices = [
            (device_class, r)
            for device_class in sorted(classes)
            for r in range(len(instance.resources))
            if instance.on(Rule.DEVICES)
        ]
        self._unlimited = {
            r: sum(podset.count * podset.requests[r] for podset in instance.podsets)
            for r in self._resources
            if any(node.capacity[r] is None for node in instance.nodes)
        }
        """As much of a resource that some nodes do not limit as all pods could ask for."""
        self._free = [self._free_on(n, standing) for n in range(len(instance.nodes))]
        self._pods: list[list[Vector]] = [[] for _ in instance.nodes]
        for kind in leaving:
            for s in kind.podsets:
                for spot, pods in instance.podsets[s].current.items():
                    self._pods[spot.node] += [self.asks(kind)] * pods
        self.deepest = max(map(len, self._pods), default=0)
        """Most pods that could leave one node."""
        self._after: dict[int, list[Vector]] = {}

    def asks(self, kind: PodKind) -> Vector:
        """Return what one pod of a kind takes."""
        needs = {need.device_class: need for need in kind.one.devices}
        on_devices = (
            needs[c].count * needs[c].request[r] if c in needs else 0 for c, r in self._devices
        )
        return (*(kind.one.requests[r] for r in self._resources), *on_devices)

    def _free_on(self, n: int, standing: Loads) -> Vector:
        node = self._instance.nodes[n]
        free = []
        for r in self._resources:
            limit = node.capacity[r]
            free.append(self._unlimited[r] if limit is None else limit - standing.node[n][r])
        for device_class, r in self._devices:
            free.append(
                sum(
                    max(0, node.devices[d].capacity[r] - standing.device[n][d][r])
                    for d in node.devices_of(device_class)
                )
            )
        return tuple(free)

    def after(self, departures: int) -> list[Vector]:
        """Return free amounts after so many departures from a node, those that are not less."""
        if departures not in self._after:
            self._after[departures] = largest(self._with_room(departures))
        return self._after[departures]

    def _with_room(self, q: int) -> Iterator[Vector]:
        choices = sum(comb(len(pods), min(q, len(pods))) for pods in self._pods)
        for free, pods in zip(self._free, self._pods, strict=True):
            k = min(q, len(pods))
            if choices <= MOST_CHOICES or k <= 1:
                for chosen in combinations(pods, k):
                    yield tuple(map(sum, zip(free, *chosen, strict=True)))
            else:
                tops = (sum(sorted(amounts)[-k:]) for amounts in zip(*pods, strict=True))
                yield tuple(have + top for have, top in zip(free, tops, strict=True))


def largest(vectors: Iterable[Vector]) -> list[Vector]:
    """Return the vectors that no other one covers."""
    found: list[Vector] = []
    for vector in sorted(set(vectors), reverse=True):
        if not any(all(a >= b for a, b in zip(other, vector, strict=True)) for other in found):
            found.append(vector)
    return found
