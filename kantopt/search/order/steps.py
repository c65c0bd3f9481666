"""Single steps from one state of a cluster to the next: what has room, what limits allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from kantopt.problem.cluster import Spot
from kantopt.problem.difference import Change
from kantopt.problem.instance import Instance
from kantopt.search.order.ledger import Ledger
from kantopt.search.order.units import Key, Unit, taken
from kantopt.search.order.waits import Near, scarce_in, scarce_quotas


class Hop(NamedTuple):
    """One pod of the ``k``-th pod set that moves."""

    k: int
    source: Spot
    target: Spot


class Step(NamedTuple):
    """Pods that move in one wave, or an atom: a unit that is done as it stands."""

    hops: tuple[Hop, ...]
    atom: int | None = None


class Configuration(NamedTuple):
    """Where the moving pods of each pod set are, sorted; a bit for each atom that is done."""

    at: tuple[tuple[Spot, ...], ...]
    done: int

    def moved(self, hops: Sequence[Hop]) -> Configuration:
        """Return the state after some pods have moved."""
        at = [list(spots) for spots in self.at]
        for hop in hops:
            at[hop.k].remove(hop.source)
        for hop in hops:
            at[hop.k].append(hop.target)
        return Configuration(tuple(tuple(sorted(spots)) for spots in at), self.done)


class Counted:
    """Limits on moves by job, namespace and node: how much of each is used up on the way."""

    def __init__(self, instance: Instance, podsets: Sequence[int], atoms: Sequence[Unit]) -> None:
        self._instance, self._podsets = instance, podsets
        limits = instance.model.limits
        self._limits = {
            "namespace": limits.moves_per_namespace,
            "to": limits.arrivals_per_node,
            "from": limits.departures_per_node,
        }
        self._index: dict[tuple[str, object], int] = {}
        self.none: tuple[int, ...] = ()
        before: Counter[tuple[str, object]] = Counter()
        for change in (change for unit in atoms for change in unit.changes):
            for name in self._names(change.podset, change.source, change.target):
                before[name] += change.pods
        self._before = before

    def _names(
        self, s: int, source: Spot | None, target: Spot | None
    ) -> Iterator[tuple[str, object]]:
        job = self._instance.job_of(s)
        found: list[tuple[str, object]] = []
        if source is not None:
            found.append(("from", source.node))
            if target is not None:
                found += [("job", job.index), ("namespace", job.namespace), ("to", target.node)]
        for kind, what in found:
            if self._limit(kind, what) is not None:
                yield kind, what

    def _limit(self, kind: str, what: object) -> int | None:
        if isinstance(what, int) and kind == "job":
            per_job = self._instance.model.limits.moves_per_job
            return self._instance.jobs[what].move_limit(per_job)
        return self._limits[kind]

    def after(self, counts: tuple[int, ...], step: Step) -> tuple[int, ...] | None:
        """Return the counts after a step, ``None`` if that is beyond a limit."""
        added: Counter[tuple[str, object]] = Counter()
        for hop in step.hops:
            added.update(self._names(self._podsets[hop.k], hop.source, hop.target))
        if not added:
            return counts
        then = list(counts)
        for name, pods in added.items():
            i = self._index.setdefault(name, len(self._index))
            then += [0] * (i + 1 - len(then))
            then[i] += pods
            limit = self._limit(*name)
            if limit is not None and then[i] + self._before[name] > limit:
                return None
        return tuple(then)


class Rooms:
    """What a cluster has room for, whatever state it is in."""

    def __init__(
        self,
        instance: Instance,
        podsets: Sequence[int],
        start: Configuration,
        atoms: Sequence[Unit],
        before: Sequence[Unit],
    ) -> None:
        self.instance, self.podsets, self.start, self.atoms = instance, podsets, start, atoms
        self._before = [change for unit in before for change in unit.changes]
        self.ledger = Ledger(instance)
        self.counted = Counted(instance, podsets, [*atoms, *before])
        units = [*atoms, *before, *self._all_moves(start)]
        self.near = Near(instance, units)
        self.concerned = any(self.near.concerns(unit) for unit in units)
        self.quotas = scarce_quotas(instance, [*atoms, *before])
        self.unit = cache(self._unit)
        self.taken = cache(lambda s, spot: tuple(taken(instance, s, spot)))

    def _all_moves(self, start: Configuration) -> Iterator[Unit]:
        for k, at in enumerate(start.at):
            for spot in at:
                yield Unit(self.instance, (Change(self.podsets[k], spot, spot, 1),))

    def _unit(self, hops: tuple[Hop, ...]) -> Unit:
        changes = (Change(self.podsets[hop.k], hop.source, hop.target, 1) for hop in hops)
        return Unit(self.instance, tuple(changes))

    def changed(self, state: Configuration) -> Iterator[Change]:
        """How a state differs from the snapshot, as changes."""
        yield from self._before
        for k, (before, at) in enumerate(zip(self.start.at, state.at, strict=True)):
            left = sorted((Counter(before) - Counter(at)).elements())
            come = sorted((Counter(at) - Counter(before)).elements())
            for source, target in zip(left, come, strict=True):
                yield Change(self.podsets[k], source, target, 1)
        for i, unit in enumerate(self.atoms):
            if state.done >> i & 1:
                yield from unit.changes

    def view(self, state: Configuration) -> View:
        """Look at one state."""
        return View(self, state)


class View:
    """One state: what is free in it, and what may therefore be done next."""

    def __init__(self, rooms: Rooms, state: Configuration) -> None:
        self._rooms, self._state = rooms, state
        self._gone: dict[Key, int] = {}
        for change in rooms.changed(state):
            for spot, sign in ((change.source, 1), (change.target, -1)):
                if spot is not None:
                    for key, amount in rooms.taken(change.podset, spot):
                        self._gone[key] = self._gone.get(key, 0) + sign * change.pods * amount
            if change.kind == "evict":
                for b in rooms.instance.podsets[change.podset].budgets:
                    key = ("budget", b, 0, 0)
                    self._gone[key] = self._gone.get(key, 0) - change.pods

    def _has_room(self, unit: Unit) -> bool:
        free = self._rooms.ledger.free
        return all(free(k) + self._gone.get(k, 0) >= amount for k, amount in unit.needs.items())

    def _welcome(self, unit: Unit) -> bool:
        """Whether no neighbour is offended."""
        near = self._rooms.near
        if not (self._rooms.concerned and near.concerns(unit)):
            return True
        so_far = tuple(self._rooms.changed(self._state))
        near.shift(so_far, 1)
        welcome = near.enter(unit)
        if welcome:
            near.shift(unit.changes, -1)
        near.shift(so_far, -1)
        return welcome

    def admits(self, hops: tuple[Hop, ...]) -> bool:
        """Whether some pods may move now, all in one wave."""
        unit = self._rooms.unit(hops)
        return self._has_room(unit) and self._welcome(unit)

    def admits_atom(self, i: int) -> bool:
        """Whether a unit may be done now; binds wait for evictions that give them room or quota."""
        rooms, unit = self._rooms, self._rooms.atoms[i]
        if any(
            other in unit.first and not self._state.done >> j & 1
            for j, other in enumerate(rooms.atoms)
        ):
            return False
        groups = scarce_in(rooms.instance, rooms.quotas, unit.changes, "bind")
        for j, other in enumerate(rooms.atoms):
            waits = groups and not self._state.done >> j & 1
            if waits and groups & scarce_in(rooms.instance, rooms.quotas, other.changes, "evict"):
                return False
        return self._has_room(unit) and self._welcome(unit)


def units_in_order(
    instance: Instance, steps: Sequence[Step], atoms: Sequence[Unit], podsets: Sequence[int]
) -> list[Unit]:
    """Turn steps into units; of a pod that moves several times all moves but the last stop over."""
    chains: dict[tuple[int, Spot], list[list[tuple[int, int]]]] = {}
    earlier: dict[tuple[int, int], tuple[int, int]] = {}
    """By step and hop: the step and hop that brought the pod."""
    for i, step in enumerate(steps):
        arriving = []
        for h, hop in enumerate(step.hops):
            waiting = chains.get((hop.k, hop.source))
            chain = waiting.pop(0) if waiting else []
            if chain:
                earlier[i, h] = chain[-1]
            arriving.append(((hop.k, hop.target), [*chain, (i, h)]))
        for place, chain in arriving:
            chains.setdefault(place, []).append(chain)
    onward = set(earlier.values())
    units: list[Unit] = []
    for i, step in enumerate(steps):
        if step.atom is not None:
            units.append(atoms[step.atom])
            continue
        changes = tuple(
            Change(podsets[hop.k], hop.source, hop.target, 1, stopover=(i, h) in onward)
            for h, hop in enumerate(step.hops)
        )
        known = {earlier[i, h][0] for h in range(len(step.hops)) if (i, h) in earlier}
        units.append(Unit(instance, changes, tuple(units[j] for j in sorted(known))))
    return units
