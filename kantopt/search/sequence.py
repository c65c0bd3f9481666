"""The order of a plan: waves of actions in which every intermediate state is legal."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.difference import Change, Difference, Numbering, difference
from kantopt.search.wave import OpenWave, Unit
from kantopt.verify.replay import replay


def sequence(instance: Instance, placement: Placement) -> tuple[Wave, ...] | None:
    """Order the actions that take the snapshot's placement to another.

    Evictions come first, moves as early as they can, and all pods of a job are bound in one wave.
    Each wave waits for the one before it, and the judge has replayed them all. ``None`` if no
    order was found, for example because
    live moves wait for each other in a circle; jobs that must be placed are not asked for here.
    """
    changes = difference(instance, placement)
    if not (changes.evictions or changes.moves or changes.binds):
        return ()
    for order in (_evicting_first, _evicting_last):
        waves = _numbered(order(instance, changes))
        if waves is not None and _holds(instance, waves, placement):
            return waves
    return None


def _holds(instance: Instance, waves: tuple[Wave, ...], placement: Placement) -> bool:
    """Whether the judge finds every wave legal and the end where it should be."""
    violations, final = replay(instance, waves)
    legal = all(violation.rule == Rule.REQUIRED for violation in violations)
    return legal and final.podsets == placement.podsets


def _numbered(waves: Sequence[Sequence[Change]] | None) -> tuple[Wave, ...] | None:
    if waves is None:
        return None
    numbering = Numbering()
    filled = [list(wave) for wave in waves if wave]
    return tuple(
        Wave(i, (i - 1,) if i > 1 else (), numbering.actions(changes))
        for i, changes in enumerate(filled, start=1)
    )


def _evicting_first(instance: Instance, changes: Difference) -> list[list[Change]] | None:
    if not changes.moves:
        return [list(changes.evictions), list(changes.binds)]
    return _greedy(instance, changes, evict_first=True)


def _evicting_last(instance: Instance, changes: Difference) -> list[list[Change]] | None:
    """Evict when nothing else can be done: a budget's slot may be needed for restarts before."""
    return _greedy(instance, changes, evict_first=False) if changes.moves else None


def _greedy(
    instance: Instance, changes: Difference, *, evict_first: bool
) -> list[list[Change]] | None:
    """Fill a wave with all that stays legal, then open the next; ``None`` when stuck.

    Evictions have a wave of their own: until it is done, what they give up is not free.
    """
    kinds = _by_kind(instance, _units(instance, changes))
    evictions = list(changes.evictions)
    open_wave = OpenWave(instance)
    waves: list[list[Change]] = []
    while any(kinds) or evictions:
        if not (evictions and evict_first):
            _fill_with_one_kind(open_wave, kinds)
        if not open_wave.changes:
            if not evictions:
                return None
            open_wave.evict(evictions)
            evictions = []
        waves.append(open_wave.close())
    return waves


def _by_kind(instance: Instance, units: list[Unit]) -> list[list[Unit]]:
    """Restarts, live moves and binds apart: what one kind gives up is not free for another."""
    kinds: list[list[Unit]] = [[], [], []]
    for unit in units:
        restarts = instance.job_of(unit[0].podset).move_mode == "restart"
        kinds[2 if unit[0].kind == "bind" else 0 if restarts else 1].append(unit)
    return kinds


def _fill_with_one_kind(wave: OpenWave, kinds: list[list[Unit]]) -> None:
    for i, units in enumerate(kinds):
        kinds[i] = _fill(wave, units)
        if wave.changes:
            return


def _fill(wave: OpenWave, units: list[Unit]) -> list[Unit]:
    """Add units until none fits any more, then those that fit only together; return the rest."""
    while True:
        rest = [unit for unit in units if not wave.add(unit)]
        if len(rest) == len(units):
            break
        units = rest
    return wave.add_together(units)


def _units(instance: Instance, changes: Difference) -> list[Unit]:
    """Changes that belong into one wave: a job's binds; its moves if closeness ties them."""
    tied = {
        need.job
        for need in instance.topology_needs
        if (need.required is not None and instance.on(Rule.TOPOLOGY))
        or (need.slice_level is not None and instance.on(Rule.SLICES))
    }
    moves: dict[int, list[Change]] = {}
    units: list[Unit] = []
    for change in changes.moves:
        j = instance.podsets[change.podset].job
        if j in tied:
            moves.setdefault(j, []).append(change)
        else:
            units.append((change,))
    binds: dict[int, list[Change]] = {}
    for change in changes.binds:
        binds.setdefault(instance.podsets[change.podset].job, []).append(change)
    units += [tuple(group) for _, group in sorted(moves.items())]
    return units + [tuple(group) for _, group in sorted(binds.items())]
