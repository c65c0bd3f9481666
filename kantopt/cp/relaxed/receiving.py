"""How many pods must leave so that pending ones can arrive, by weights on what is pending.

A pending pod that fits on no node as it is needs at least one pod to leave the node that receives
it; two such pods may share one large departure. Weights ``w[k]`` on kinds of pending pods are
chosen so that wherever pods ``A`` can arrive once ``q`` pods have left, the weights of ``A`` add up
to at most ``q``. Every departure is a move or an eviction, and no two nodes share one, hence

    moves + evictions >= sum_k w[k] * bound[k].

Weights are counted in halves, for best weights of pairs are halves.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from math import comb

from ortools.sat.python import cp_model

from kantopt.cp.relaxed.kinds import Kinds, PodKind
from kantopt.cp.solver import solver_of
from kantopt.cp.variables import weighted
from kantopt.problem.instance import Instance
from kantopt.problem.kept import kept_with_instance
from kantopt.schema.model import Rule
from kantopt.verify.step import Loads, standing_loads

HALVES = 2
"""Units of a weight per departure."""
MOST_LEAVING = 5_000
"""Most pods that could leave: beyond, looking at each on its node would take too long."""
MOST_KINDS = 40
"""Most kinds of pending pods with a weight, those of the most pods."""
MOST_ROUNDS = 3
"""Most times that weights are chosen, anew where pods could arrive together that weigh too much:
where that ends, it does after one or two."""
MOST_TRIED = 20_000
"""Most sets of pods tried in one search for pods that could arrive together."""
_NONE = 2**62
"""No number of pods weighs so much."""
MOST_CHOICES = 2_000
"""Most choices of pods that leave together which are looked at one by one."""

Vector = tuple[int, ...]
"""An amount of each limited resource, of nodes or of all devices of a class on a node."""
Together = dict[int, int]
"""Pods of each kind that could arrive on one node."""


@kept_with_instance(1)
def arrival_weights(instance: Instance, kinds: Kinds) -> dict[int, int]:
    """Return weights of kinds of pending pods, in halves of a departure, by kind.

    Empty if every pending pod fits somewhere as it is, or if there is too much to look at.
    """
    leaving = [kind for kind in kinds.pods if kind.one.running and not kind.fixed]
    if sum(kind.count for kind in leaving) > MOST_LEAVING:
        return {}
    rooms = Rooms(instance, standing_loads(instance), leaving)
    pending = [kind for kind in kinds.pods if not kind.one.running]
    hard = [kind for kind in pending if not _fits(rooms.asks(kind), rooms.after(0))]
    hard = sorted(hard, key=lambda kind: -kind.count)[:MOST_KINDS]
    if not hard:
        return {}
    asks = {kind.index: rooms.asks(kind) for kind in hard}
    counts = {kind.index: kind.count for kind in hard}
    cp = cp_model.CpModel()
    weight = {k: cp.new_int_var(0, HALVES * _departures(rooms, asks[k]), str(k)) for k in asks}
    for a, b in combinations_with_replacement(asks, 2):
        both = tuple(map(sum, zip(asks[a], asks[b], strict=True)))
        if (a != b or counts[a] > 1) and _fits(both, rooms.after(1)):
            cp.add(weight[a] + weight[b] <= HALVES)
    cp.maximize(weighted([(weight[k], counts[k]) for k in asks]))
    for _ in range(MOST_ROUNDS):
        solver = solver_of()
        if solver.solve(cp) != cp_model.OPTIMAL:
            break
        found = {k: solver.value(var) for k, var in weight.items() if solver.value(var)}
        search = _Heavy(asks, counts, found, rooms.deepest)
        too_heavy = list(search.over(rooms))
        if search.tried > MOST_TRIED:
            break
        if not too_heavy:
            return found
        for q, together in too_heavy:
            cp.add(weighted([(weight[k], pods) for k, pods in together.items()]) <= HALVES * q)
    return {}


def _fits(asks: Vector, rooms: Sequence[Vector]) -> bool:
    return any(all(a <= max(0, have) for a, have in zip(asks, room, strict=True)) for room in rooms)


def _departures(rooms: Rooms, asks: Vector) -> int:
    """Fewest departures that make room for a pod, as many as there could be if none do."""
    return next((q for q in range(rooms.deepest + 1) if _fits(asks, rooms.after(q))), rooms.deepest)


class _Heavy:
    """Searches for pods that could arrive together and weigh more than the pods that left."""

    def __init__(
        self,
        asks: Mapping[int, Vector],
        counts: Mapping[int, int],
        weights: Mapping[int, int],
        deepest: int,
    ) -> None:
        self._kinds = sorted(weights, key=lambda k: (-weights[k], asks[k]))
        self._asks = asks
        self._counts = counts
        self._weights = weights
        whole = sum(weights[k] * counts[k] for k in weights)
        self._total = min(whole, HALVES * deepest + 1)  # more is too heavy anywhere
        self._least = self._least_asked()
        self.tried = 0

    def over(self, rooms: Rooms) -> Iterator[tuple[int, Together]]:
        """Yield numbers of departures and pods that weigh more."""
        for q in range(1, rooms.deepest + 1):
            if self._total <= HALVES * q:
                return
            for room in rooms.after(q):
                together = self._heavier(room, HALVES * q)
                if together is not None:
                    yield q, together

    def _least_asked(self) -> list[list[list[int]]]:
        """Least amount of each resource that pods of so much weight ask, of kinds from i on."""
        size = len(next(iter(self._asks.values())))
        ends = [[[0] + [_NONE] * self._total for _ in range(size)]]
        for k in reversed(self._kinds):
            weight, after = self._weights[k], ends[-1]
            rows = []
            for r in range(size):
                row = list(after[r])
                for pods in range(1, self._counts[k] + 1):
                    ask = pods * self._asks[k][r]
                    for w in range(self._total, 0, -1):
                        row[w] = min(row[w], after[r][max(0, w - pods * weight)] + ask)
                rows.append(row)
            ends.append(rows)
        for rows in ends:
            for row in rows:  # what weighs more weighs enough
                for w in range(len(row) - 2, -1, -1):
                    row[w] = min(row[w], row[w + 1])
        return ends[::-1]

    def _heavier(self, room: Vector, limit: int) -> Together | None:
        """Return pods that fit into a room and weigh more than a limit, if there are any."""

        def descend(i: int, left: Vector, weight: int, chosen: Together) -> Together | None:
            self.tried += 1
            if weight > limit:
                return chosen
            if i == len(self._kinds) or self.tried > MOST_TRIED:
                return None
            least = self._least[i]
            fits = (bisect_right(row, have) - 1 for row, have in zip(least, left, strict=True))
            if weight + min(fits) <= limit:
                return None
            k = self._kinds[i]
            for pods in range(self._counts[k], -1, -1):
                rest = tuple(
                    have - pods * ask for have, ask in zip(left, self._asks[k], strict=True)
                )
                if min(rest) >= 0:
                    more = {**chosen, k: pods} if pods else chosen
                    found = descend(i + 1, rest, weight + pods * self._weights[k], more)
                    if found is not None:
                        return found
            return None

        return descend(0, tuple(max(0, have) for have in room), 0, {})


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
