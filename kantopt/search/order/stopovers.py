"""A pod of a circle steps aside to a place that is free for now, and goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from kantopt.problem.cluster import Spot
from kantopt.problem.difference import Change, Kind, Numbering
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.order.run import Run, circles
from kantopt.search.order.units import Key, Unit, may_step_aside, taken
from kantopt.verify.waves.pods import beyond_limits

TRIES = 40
"""Stop-overs tried where none has helped yet."""
PLACES = 3
"""Places tried for one pod."""


def with_stopovers(
    instance: Instance,
    units: Sequence[Unit],
    run: Run,
    last: Kind | None,
    over: Callable[[], bool] = lambda: False,
) -> Run:
    """Insert stop-overs for as long as they let more be done; return the best attempt.

    A stop-over is a move as well: the limit on moves bounds how many there can be.
    """
    limit = instance.model.limits.moves
    moves = sum(unit.moves for unit in units)
    spare = moves if limit is None else limit - moves
    trials = _Trials(instance, list(units), last, over)
    while run.stuck and spare > 0 and not over():
        better = trials.in_all_circles(run, spare) or trials.one(run) or trials.many(run, spare)
        if better is None:
            return run
        spare -= len(better.done) + len(better.stuck) - len(run.done) - len(run.stuck)
        run = better
    return run


class _Trials:
    """Attempts with some units split in two."""

    def __init__(
        self,
        instance: Instance,
        units: list[Unit],
        last: Kind | None,
        over: Callable[[], bool],
    ) -> None:
        self.instance = instance
        self.units = units
        self.last = last
        self.over = over

    def in_all_circles(self, run: Run, most: int) -> Run | None:
        """Let one pod of each circle step aside to a place that nobody else is waiting for."""
        pending = _pending(run.stuck)
        chosen: list[tuple[Unit, Spot]] = []
        for circle in circles(run, run.stuck)[:most]:
            chosen += islice(_aside(run, sorted(circle, key=_size), pending), 1)
        return self._better(run, chosen) if chosen else None

    def many(self, run: Run, most: int) -> Run | None:
        """Let several pods step aside for one that needs the room of them all."""
        for unit in islice(sorted(run.stuck, key=_size), TRIES):
            if self.over():
                break
            lacks = {
                key: amount - run.ledger.free(key)
                for key, amount in unit.needs.items()
                if amount > run.ledger.free(key)
            }
            pending = _pending(run.stuck)
            leaving = [other for other in run.stuck if lacks.keys() & other.frees.keys()]
            chosen: list[tuple[Unit, Spot]] = []
            for other, place in _aside(run, sorted(leaving, key=_size, reverse=True), pending):
                chosen.append((other, place))
                lacks = {key: left - other.frees.get(key, 0) for key, left in lacks.items()}
                if max(lacks.values()) <= 0 or len(chosen) == most:
                    break
            better = self._better(run, chosen) if max(lacks.values(), default=1) <= 0 else None
            if better is not None:
                return better
        return None

    def one(self, run: Run) -> Run | None:
        """Let one pod step aside, whichever helps first.

        When nothing else can be done, before anything is bound, or before anything is moved.
        """
        unbound = Run(self.instance, [u for u in self.units if u.kind != "bind"], self.last)
        emptied = Run(self.instance, [u for u in self.units if u.kind == "evict"])
        for at in (run, unbound, emptied):
            for unit, place in islice(_options(at, run.stuck), TRIES):
                if self.over():
                    return None
                better = self._better(run, [(unit, place)])
                if better is not None:
                    return better
        return None

    def _better(self, run: Run, chosen: Sequence[tuple[Unit, Spot]]) -> Run | None:
        aside = {unit for unit, _ in chosen}
        detours = [part for unit, place in chosen for part in _detour(unit, place)]
        changed = [*detours, *(unit for unit in self.units if unit not in aside)]
        actions = Numbering().actions(change for unit in changed for change in unit.changes)
        if any(beyond_limits(self.instance, actions)):
            return None
        tried = Run(self.instance, changed, self.last)
        if len(tried.stuck) >= len(run.stuck):
            return None
        self.units = changed
        return tried


def _detour(unit: Unit, place: Spot) -> tuple[Unit, Unit]:
    """Split a move in two, by way of a place."""
    (change,) = unit.changes
    first = Unit(unit.instance, (replace(change, target=place, stopover=True),))
    return first, Unit(unit.instance, (replace(change, source=place),), (first,))


def _aside(run: Run, units: Sequence[Unit], pending: dict[Key, int]) -> Iterator[tuple[Unit, Spot]]:
    """Units that can step aside to a place that nobody is waiting for, each to one of its own."""
    for unit in filter(may_step_aside, units):
        quiet, _ = _places(run, unit, pending)
        if quiet:
            for key, amount in taken(run.instance, unit.changes[0].podset, quiet[0]):
                pending[key] = pending.get(key, 0) + amount
            yield unit, quiet[0]


def _options(run: Run, stuck: Sequence[Unit]) -> Iterator[tuple[Unit, Spot]]:
    """Pods that could step aside, those in small circles and small pods first, and where to."""
    rank = {unit: i for i, circle in enumerate(circles(run, stuck)) for unit in circle}
    pending = _pending(stuck)
    movable = filter(may_step_aside, stuck)
    for unit in sorted(movable, key=lambda u: (rank.get(u, len(rank)), *_size(u))):
        quiet, wanted = _places(run, unit, pending)
        for place in (quiet + wanted)[:PLACES]:
            yield unit, place


def _size(unit: Unit) -> tuple[int, Change]:
    change = unit.changes[0]
    return sum(unit.instance.podsets[change.podset].demand), change


def _pending(stuck: Sequence[Unit]) -> dict[Key, int]:
    """What all that are stuck need of each thing."""
    pending: dict[Key, int] = {}
    for unit in stuck:
        for key, amount in unit.needs.items():
            pending[key] = pending.get(key, 0) + amount
    return pending


def _places(run: Run, unit: Unit, pending: dict[Key, int]) -> tuple[list[Spot], list[Spot]]:
    """Places with room for a pod now: those that nobody else is waiting for, and others."""
    instance, (change,) = run.instance, unit.changes
    podset = instance.podsets[change.podset]
    nodes = podset.allowed if instance.on(Rule.ELIGIBILITY) else range(len(instance.nodes))
    quiet: list[Spot] = []
    wanted: list[Spot] = []
    for n in sorted(nodes):
        spot = _spot_on(run, change.podset, n)
        if spot is None or spot in (change.source, change.target):
            continue
        if not run.near.admits(change.podset, n):
            continue
        room = min(
            (
                run.ledger.free(key) - amount - pending.get(key, 0)
                for key, amount in taken(instance, change.podset, spot)
            ),
            default=0,
        )
        (quiet if room >= 0 else wanted).append(spot)
        if len(quiet) == PLACES:
            break
    return quiet, wanted


def _spot_on(run: Run, s: int, n: int) -> Spot | None:
    """Room for one pod on a node as it is now, on the devices with least left that hold it."""
    instance = run.instance
    node, podset = instance.nodes[n], instance.podsets[s]
    free = run.ledger.free
    if any(free(key) < amount for key, amount in taken(instance, s, Spot(n))):
        return None
    chosen: list[int] = []
    for need in podset.devices:
        able = []
        for d in node.devices_of(need.device_class):
            left = [
                (free(("device", n, d, r)) - amount)
                for r, amount in enumerate(need.request)
                if amount
            ]
            if not instance.on(Rule.DEVICES) or min(left, default=0) >= 0:
                able.append((sum(left), d))
        if len(able) < need.count:
            return None
        chosen += [d for _, d in sorted(able)[: need.count]]
    return Spot(n, tuple(sorted(chosen)))
