"""A pod of a circle steps aside to a place that is free for now, and goes on from there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.difference import Kind
from kantopt.search.order.run import Run, circles
from kantopt.search.order.units import Unit, group_needs, taken

TRIES = 40
"""Stop-overs tried where none has helped yet."""
PLACES = 3
"""Places tried for one pod."""


def with_stopovers(instance: Instance, units: Sequence[Unit], run: Run, last: Kind | None) -> Run:
    """Insert stop-overs for as long as they let more be done; return the best attempt.

    A stop-over is a move as well: the limit on moves bounds how many there can be.
    """
    limit = instance.model.limits.moves
    spare = None if limit is None else limit - sum(unit.moves for unit in units)
    units = list(units)
    emptied = Run(instance, [unit for unit in units if unit.kind == "evict"])
    while run.stuck and (spare is None or spare > 0):
        better = None
        # Aside when nothing else can be done, before anything is bound, before anything is moved.
        unbound = Run(instance, [unit for unit in units if unit.kind != "bind"], last)
        options = chain.from_iterable(_options(at, run.stuck) for at in (run, unbound, emptied))
        for tries, (unit, place) in enumerate(options):
            changed = [*_detour(unit, place), *(u for u in units if u is not unit)]
            tried = Run(instance, changed, last)
            if len(tried.stuck) < len(run.stuck):
                better = tried, changed
                break
            if tries == TRIES:
                break
        if better is None:
            return run
        run, units = better
        spare = None if spare is None else spare - 1
    return run


def _detour(unit: Unit, place: Spot) -> tuple[Unit, Unit]:
    """Split a move in two, by way of a place."""
    (change,) = unit.changes
    first = Unit(unit.instance, (replace(change, target=place, stopover=True),))
    return first, Unit(unit.instance, (replace(change, source=place),), first)


def _options(run: Run, stuck: Sequence[Unit]) -> Iterator[tuple[Unit, Spot]]:
    """Pods that could step aside, those in small circles and small pods first, and where to."""
    movable = [unit for unit in stuck if _may_step_aside(run.instance, unit)]
    rank = {unit: i for i, circle in enumerate(circles(run, stuck)) for unit in circle}
    pending: dict[object, int] = {}
    for unit in stuck:
        for key, amount in unit.needs.items():
            pending[key] = pending.get(key, 0) + amount

    def size(unit: Unit) -> tuple[object, ...]:
        podset = run.instance.podsets[unit.changes[0].podset]
        return (rank.get(unit, len(rank)), sum(podset.demand), unit.changes[0])

    for unit in sorted(movable, key=size):
        for place in _places(run, unit, pending):
            yield unit, place


def _may_step_aside(instance: Instance, unit: Unit) -> bool:
    if unit.first is not None or len(unit.changes) > 1 or unit.kind != "move":
        return False
    job = instance.podsets[unit.changes[0].podset].job
    return all(need.job != job for need in group_needs(instance))


def _places(run: Run, unit: Unit, pending: dict[object, int]) -> list[Spot]:
    """Places with room for a pod now, those first that nobody else is waiting for."""
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
    return (quiet + wanted)[:PLACES]


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
