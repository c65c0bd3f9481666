"""The order of a plan: waves of actions in which every intermediate state is legal."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from kantopt.problem.actions import Wave
from kantopt.problem.difference import Change, Kind, Numbering, difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.order.detours import CHECKS, Checks, way_round
from kantopt.search.order.run import Run
from kantopt.search.order.stopovers import with_stopovers
from kantopt.search.order.ties import parts
from kantopt.search.order.units import Unit, after_evictions, paired_anew, units_of
from kantopt.verify.replay import replay

SHUFFLES = 6
"""Orders drawn at random that are tried after those with a reason, with a fixed seed.

Which of a pod set's equal pods goes where is drawn anew as well: that may open a circle.
"""
WHOLE = 16
"""Of more units only the circles are searched exactly, with as many that are tied to them."""
MANY = 500
"""Of more units the circles are what matters, and no shuffling breaks a circle."""


def sequence(
    instance: Instance, placement: Placement, over: Callable[[], bool] = lambda: False
) -> tuple[Wave, ...] | None:
    """Order the actions that take the snapshot's placement to another.

    No action waits for what it does not need: room that others leave, the slot of a budget, the
    other pods of its job. Pods that restart go round in a circle together; a circle of live moves
    is broken by a stop-over. The judge has replayed the waves. ``None`` if no order was found; jobs
    that must be placed are not asked for here.
    """
    changes = difference(instance, placement)
    if changes.binds and not (changes.evictions or changes.moves):
        # Nobody leaves, so there is nothing to wait for.
        return _judged(instance, [one_wave(changes.binds)], placement)
    units = units_of(instance, changes)
    if not units:
        return ()
    if over() and all(Run(instance, units, last).stuck for last in ("evict", None)):
        return None  # who waits for whom takes longer to find out, and makes none less stuck
    if changes.evictions and changes.binds and instance.strict:
        units = after_evictions(instance, placement, units, over)
    closest: dict[Kind | None, tuple[Run, list[Unit]]] = {}
    for attempt, last in _attempts(instance, units):
        run = Run(instance, attempt, last)
        if not run.stuck:
            waves = _judged(instance, _arranged(run), placement)
            if waves is not None:
                return waves
        elif last not in closest or len(run.stuck) < len(closest[last][0].stuck):
            closest[last] = run, attempt
        if over() and last != "evict":
            return None  # two at least: a small plan is what most of the time went into
    for run in _with_detours(instance, units, closest, over):
        waves = None if run.stuck else _judged(instance, _arranged(run), placement)
        if waves is not None:
            return waves
    return None


def _with_detours(
    instance: Instance,
    units: list[Unit],
    closest: dict[Kind | None, tuple[Run, list[Unit]]],
    over: Callable[[], bool],
) -> Iterator[Run]:
    """Attempts with stop-overs: of few units the best there is, of many one good guess first.

    Of many only those that got stuck are moved about exactly, then some that are tied to them too:
    the fewer they are, the sooner all of their states are known.
    """
    if not closest:
        return
    run = min((run for run, _ in closest.values()), key=lambda run: len(run.stuck))
    few = len(units) <= WHOLE
    if few:
        yield from _taken_back(run, [*parts(run, WHOLE)], Checks(), over)
    for last, (attempt, order) in closest.items():
        yield with_stopovers(instance, order, attempt, last, over)
    stuck: list[list[Unit]] = []
    for most in () if few else (0, WHOLE // 2, WHOLE):
        before, stuck = stuck, [*parts(run, most)]
        if stuck != before:
            checks = Checks(CHECKS // 2 if most else CHECKS)
            yield from _taken_back(run, stuck, checks, over)


def _taken_back(
    run: Run, stuck: Sequence[Sequence[Unit]], checks: Checks, over: Callable[[], bool]
) -> Iterator[Run]:
    """Attempts in which parts, what is done of them taken back, are searched one after the other.

    All else is done before, but for binds and what waits for a part; or all of it is after.
    """
    again = {unit for part in stuck for unit in part}
    mask = sum(1 << v for v, (unit, _) in enumerate(run.done) if unit in again)
    done = {unit: run.before[v] & mask for v, (unit, _) in enumerate(run.done) if unit not in again}
    late = [unit for unit, waits in done.items() if waits or unit.kind == "bind"]
    for after in (late, [*done]) if len(late) < len(done) else (late,):
        last = set(after)
        order = [unit for unit in done if unit not in last]
        for part in stuck:
            single = [unit for each in part for unit in run.joined.get(each, (each,))]
            found = way_round(run.instance, single, order, over, checks)
            if found is None:
                break
            order += found
        else:
            yield Run(run.instance, [*order, *after])


def _attempts(instance: Instance, units: list[Unit]) -> Iterator[tuple[list[Unit], Kind | None]]:
    """Orders to try units in, and what to do only when nothing else can be done.

    An eviction that comes last leaves the slot of its budget to restarts before it, which can wait
    for nobody else's; binds that come last leave the room of evicted pods to stop-overs.
    """
    kinds = {unit.kind for unit in units}
    lasts: list[Kind] = [kind for kind in ("evict", "bind") if kind in kinds and "move" in kinds]
    if "evict" in lasts:
        yield units, "evict"
    yield units, None
    if "bind" in lasts:
        yield units, "bind"

    def size(unit: Unit) -> int:
        return sum(
            change.pods * sum(instance.podsets[change.podset].demand) for change in unit.changes
        )

    yield sorted(units, key=size), None
    yield sorted(units, key=size, reverse=True), None
    rng = random.Random(0)
    for i in range(SHUFFLES if len(units) <= MANY else 0):
        shuffled = rng.sample(paired_anew(units, rng), len(units))
        yield shuffled, lasts[i % len(lasts)] if lasts else None


def _arranged(run: Run) -> Iterator[tuple[Wave, ...]]:
    """Waves as wide as they can be; or one by one, if the judge cannot see that these are legal."""
    yield widest(run.done, run.before)
    yield in_a_row(run.done)


def _judged(
    instance: Instance, ways: Iterable[tuple[Wave, ...]], placement: Placement
) -> tuple[Wave, ...] | None:
    """Return the first waves that the judge finds legal, and that end where they should."""
    for waves in ways:
        violations, final = replay(instance, waves)
        legal = all(violation.rule == Rule.REQUIRED for violation in violations)
        if legal and final.podsets == placement.podsets:
            return waves
    return None


Done = Sequence[tuple[Unit, frozenset[int]]]
"""Units in an order that is legal, each with the numbers of those that it waits for."""


def widest(done: Done, before: dict[int, int]) -> tuple[Wave, ...]:
    """Gather units into waves without making any unit wait for more than it must.

    Two units share a wave if they wait for the same units and the same units wait for them. The
    waves are listed by the length of the longest chain before them.
    """
    waits = [_latest(known, before) for _, known in done]
    followers: list[list[int]] = [[] for _ in done]
    depth = [0] * len(done)
    for v, known in enumerate(waits):
        for w in known:
            followers[w].append(v)
            depth[v] = max(depth[v], depth[w] + 1)
    together: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for v in range(len(done)):
        together.setdefault((waits[v], tuple(followers[v])), []).append(v)
    groups = sorted(together.values(), key=lambda group: (depth[group[0]], group[0]))
    wave_of = {v: i for i, group in enumerate(groups, start=1) for v in group}
    numbering = Numbering()
    return tuple(
        Wave(
            i,
            tuple(sorted({wave_of[w] for w in waits[group[0]]})),
            numbering.actions(change for v in group for change in done[v][0].changes),
        )
        for i, group in enumerate(groups, start=1)
    )


def _latest(known: frozenset[int], before: dict[int, int]) -> tuple[int, ...]:
    """Of those waited for the ones that no other of them waits for."""
    latest: list[int] = []
    covered = 0
    for w in sorted(known, reverse=True):
        if not covered >> w & 1:
            latest.append(w)
            covered |= before[w]
    return tuple(sorted(latest))


def one_wave(changes: Iterable[Change]) -> tuple[Wave, ...]:
    """Make one wave of all changes."""
    return (Wave(1, (), Numbering().actions(changes)),)


def in_a_row(done: Done) -> tuple[Wave, ...]:
    """Make each unit a wave that waits for the one before it, needed or not."""
    numbering = Numbering()
    return tuple(
        Wave(i, (i - 1,) if i > 1 else (), numbering.actions(unit.changes))
        for i, (unit, _) in enumerate(done, start=1)
    )
