"""One attempt at an order: do what can be done, note what it waited for, until nothing is left."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kantopt.problem.difference import Kind
from kantopt.problem.instance import Instance
from kantopt.search.order.ledger import Ledger
from kantopt.search.order.units import Key, Unit
from kantopt.search.order.waits import Group, Near, groups_of, scarce_in, scarce_quotas

Obstacle = Key | tuple[str, object]
"""What a unit waits for: a thing of which there is too little, or one of a few other reasons."""


@dataclass
class Batch:
    """Moves that may be under way together, where the model limits them."""

    limit: int | None
    moves: int = 0
    members: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    """Members of the batch before."""

    def join(self, moves: int, v: int) -> set[int]:
        """Let a unit in, or start the next batch with it; return whom it waits for."""
        if self.limit is None or not moves:
            return set()
        if self.moves + moves > self.limit:
            self.last, self.members, self.moves = self.members, set(), 0
        self.members.add(v)
        self.moves += moves
        return set(self.last)


class Run:
    """An attempt: units are done one after the other, each as soon as it can be.

    ``done`` lists them with the numbers of those that each waits for; ``before`` has bit ``w`` set
    for each ``w`` that is done before; ``stuck`` are those that never could. Units of the kind
    ``last`` are done when nothing else can be.
    """

    def __init__(self, instance: Instance, units: Sequence[Unit], last: Kind | None = None) -> None:
        self.instance = instance
        self.ledger = Ledger(instance)
        self.near = Near(instance, units)
        self._contested = {key for unit in units for key in unit.frees}
        self.done: list[tuple[Unit, frozenset[int]]] = []
        self.before: dict[int, int] = {}
        self._depth: list[int] = []
        self._number: dict[Unit, int] = {}
        self._members = groups_of(instance, units)
        self._latest: dict[Group, int] = {}
        self._batch = Batch(instance.model.limits.moves_per_wave)
        self._quotas = scarce_quotas(instance, units)
        self._evicting: dict[tuple[str, int], set[Unit]] = {}
        for unit in units:
            for group in self._groups(unit, "evict"):
                self._evicting.setdefault(group, set()).add(unit)
        self.joined: dict[Unit, Sequence[Unit]] = {}
        """Units that were done at once, by the one that was made of them."""
        self._parked: dict[Obstacle, list[Unit]] = {}
        self._queue = deque(unit for unit in units if unit.kind != last)
        self._later = deque(unit for unit in units if unit.kind == last)
        self._go()

    @property
    def stuck(self) -> list[Unit]:
        """Units that could not be done."""
        return [unit for units in self._parked.values() for unit in units]

    def groups(self, unit: Unit) -> list[Group]:
        """Return what of its job, of closeness and of scarce quota a unit shares with others."""
        quotas = self._groups(unit, "bind") | self._groups(unit, "evict")
        return sorted(self._members.get(unit, set()) | quotas)

    def _groups(self, unit: Unit, kind: str) -> set[tuple[str, int]]:
        if not self._quotas:
            return set()
        return scarce_in(self.instance, self._quotas, unit.changes, kind)

    def _go(self) -> None:
        while True:
            while self._queue:
                unit = self._queue.popleft()
                obstacle = self.obstacle(unit)
                if obstacle is not None:
                    self._parked.setdefault(obstacle, []).append(unit)
            if self._later:
                self._queue.append(self._later.popleft())
            elif not self._together():
                return

    def obstacle(self, unit: Unit) -> Obstacle | None:
        """Do a unit, or return what stands in its way."""
        for first in unit.first:
            if first not in self._number:
                return "after", first
        limit = self._batch.limit
        if limit is not None and unit.moves > limit:
            return "limit", None
        for group in self._groups(unit, "bind"):
            if any(other not in self._number for other in self._evicting.get(group, ())):
                return "quota", group
        key = self.ledger.lacking(self._needs(unit))
        if key is not None:
            return key
        if self.near.concerns(unit) and not self.near.enter(unit):
            return "near", None
        self._do(unit)
        return None

    def _needs(self, unit: Unit) -> dict[Key, int]:
        """What a unit needs of things that others leave: of the rest there is enough in the end."""
        return {key: amount for key, amount in unit.needs.items() if key in self._contested}

    def _do(self, unit: Unit) -> None:
        v = len(self.done)
        waits = self.near.waits(unit, v) | self._batch.join(unit.moves, v)
        waits |= {self._number[first] for first in unit.first}
        for group in self._groups(unit, "bind"):
            waits |= {self._number[other] for other in self._evicting.get(group, ())}
        for group in self._members.get(unit, ()):
            if group in self._latest:
                waits.add(self._latest[group])
            self._latest[group] = v
        self.ledger.take(self._needs(unit), waits, self.before, self._depth)
        self.ledger.spend({k: v for k, v in unit.needs.items() if k not in self._contested})
        self._depth.append(1 + max((self._depth[w] for w in waits), default=0))
        self.ledger.leave(unit.frees, v)
        mask = 0
        for w in waits:
            mask |= self.before[w] | 1 << w
        self.before[v] = mask
        self._number[unit] = v
        self.done.append((unit, frozenset(waits)))
        self._wake(unit.frees)
        self._wake([("after", unit), *(("quota", g) for g in self._groups(unit, "evict"))])
        if self.near.concerns(unit):
            self._wake([("near", None)])

    def _wake(self, obstacles: Iterable[Obstacle]) -> None:
        for obstacle in obstacles:
            self._queue.extend(self._parked.pop(obstacle, ()))

    def _together(self) -> bool:
        """Do restarts that wait for each other at once: all leave before the first is back."""
        restarts = [unit for unit in self.stuck if unit.restarts and not unit.first]
        if len(restarts) < 2:
            return False
        for circle in circles(self, restarts):
            if self._do_jointly(circle):
                return True
        return self._do_jointly(self._fitting(restarts))

    def _do_jointly(self, units: Sequence[Unit]) -> bool:
        if len(units) < 2:
            return False
        joint = Unit(self.instance, tuple(change for unit in units for change in unit.changes))
        self._members[joint] = set().union(*(self._members.get(unit, ()) for unit in units))
        if self.obstacle(joint) is not None:
            return False
        self.joined[joint] = units
        v = len(self.done) - 1
        for unit in units:
            self._number[unit] = v
        self._parked = {
            obstacle: rest
            for obstacle, parked in self._parked.items()
            if (rest := [unit for unit in parked if unit not in self._number])
        }
        self._queue = deque(unit for unit in self._queue if unit not in self._number)
        return True

    def _fitting(self, units: list[Unit]) -> list[Unit]:
        """Leave out those for which there is no room although all the others leave."""
        while units:
            joint = Unit(self.instance, tuple(c for unit in units for c in unit.changes))
            key = self.ledger.lacking(self._needs(joint))
            if key is None:
                return units
            wanting = [unit for unit in units if key in unit.needs]
            units = [unit for unit in units if unit is not wanting[-1]]
        return []


def circles(run: Run, units: Sequence[Unit]) -> list[list[Unit]]:
    """Units that wait for each other in a circle, the smallest circles first.

    A unit waits for all that would leave something of what it lacks.
    """
    leaving: dict[Key, list[Unit]] = {}
    for unit in units:
        for key in unit.frees:
            leaving.setdefault(key, []).append(unit)
    index = {unit: i for i, unit in enumerate(units)}
    waits = [
        (index[unit], index[other])
        for unit in units
        for key, amount in unit.needs.items()
        if amount and run.ledger.free(key) < amount
        for other in leaving.get(key, ())
    ]
    if not waits:
        return []  # as mostly, and without loading a library for it
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph(waits)
    found = [sorted(c) for c in nx.strongly_connected_components(graph) if len(c) > 1]
    return [[units[i] for i in circle] for circle in sorted(found, key=lambda c: (len(c), c))]
