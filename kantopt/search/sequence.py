"""The order of a plan: waves of actions in which every intermediate state is legal."""

from __future__ import annotations

import random
from collections.abc import Iterator

from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.difference import difference
from kantopt.search.order.run import Run
from kantopt.search.order.stopovers import with_stopovers
from kantopt.search.order.units import Unit, units_of
from kantopt.search.order.waves import in_a_row, widest
from kantopt.verify.replay import replay

SHUFFLES = 6
"""Orders drawn at random that are tried after those with a reason, with a fixed seed."""


def sequence(instance: Instance, placement: Placement) -> tuple[Wave, ...] | None:
    """Order the actions that take the snapshot's placement to another.

    No action waits for what it does not need: room that others leave, the slot of a budget, the
    other pods of its job. Pods that restart go round in a circle together; a circle of live moves
    is broken by a stop-over. The judge has replayed the waves. ``None`` if no order was found; jobs
    that must be placed are not asked for here.
    """
    units = units_of(instance, difference(instance, placement))
    if not units:
        return ()
    best: tuple[Run, list[Unit], bool] | None = None
    for attempt, evict_first in _attempts(instance, units):
        run = Run(instance, attempt, evict_first=evict_first)
        if not run.stuck:
            waves = _judged(instance, run, placement)
            if waves is not None:
                return waves
        elif best is None or len(run.stuck) < len(best[0].stuck):
            best = run, attempt, evict_first
    if best is None:
        return None
    run, attempt, evict_first = best
    run = with_stopovers(instance, attempt, run, evict_first=evict_first)
    return None if run.stuck else _judged(instance, run, placement)


def _attempts(instance: Instance, units: list[Unit]) -> Iterator[tuple[list[Unit], bool]]:
    """Orders to try units in, and whether evictions come before all else that can be done.

    An eviction that comes last leaves the slot of its budget to restarts before it.
    """
    yield units, True
    if any(unit.evicts for unit in units):
        yield units, False

    def size(unit: Unit) -> int:
        return sum(
            change.pods * sum(instance.podsets[change.podset].demand) for change in unit.changes
        )

    yield sorted(units, key=size), True
    yield sorted(units, key=size, reverse=True), False
    rng = random.Random(0)
    for i in range(SHUFFLES):
        yield rng.sample(units, len(units)), bool(i % 2)


def _judged(instance: Instance, run: Run, placement: Placement) -> tuple[Wave, ...] | None:
    """Return the waves of an attempt if the judge finds them legal; one by one if need be."""
    for waves in (widest(run.done, run.before), in_a_row(run.done)):
        violations, final = replay(instance, waves)
        legal = all(violation.rule == Rule.REQUIRED for violation in violations)
        if legal and final.podsets == placement.podsets:
            return waves
    return None
