"""How near to a placement do moves come that have an order?"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kantopt.problem.cluster import Spot
from kantopt.problem.derived.classes import merge_pods
from kantopt.problem.derived.focus import with_model
from kantopt.problem.difference import Change, changed, difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.order.ledger import Ledger
from kantopt.search.order.run import Run
from kantopt.search.order.stopovers import with_stopovers
from kantopt.search.order.units import Key, Unit, taken, units_of

LOOKED_AT = 100
"""Pods of one class that could leave for a place that are compared."""

_Flow = tuple[tuple[Key, int], ...]


@dataclass(frozen=True, slots=True)
class Approach:
    """What of a placement can be reached, in an order, within the limit on moves.

    Attributes
    ----------
    placement
        What is reached; as good as what was wanted if nothing is stuck or lacking.
    stuck
        Units that find no room, stop-overs or not.
    lacking
        Moves beyond the limit that it takes to reach all the rest.
    """

    placement: Placement
    stuck: tuple[Unit, ...]
    lacking: int

    @property
    def complete(self) -> bool:
        """Whether all that was wanted is reached."""
        return not (self.stuck or self.lacking)


def approach(
    instance: Instance,
    placement: Placement,
    over: Callable[[], bool] = lambda: False,
    direct: Callable[[Placement], None] = lambda _: None,
) -> Approach:
    """Go as far towards a placement as a few attempts at an order lead.

    Equal pods may change parts, and pods that are in each other's way stop over. What has no room
    then is left undone, which leaves moves for the stop-overs of others.

    Parameters
    ----------
    over
        Whether to look for stop-overs no longer.
    direct
        Told what is reached without any, before they are looked for, where that is not all.
    """
    run, units = _attempt(instance, placement)
    if run.stuck:
        other = _attempt(instance, paired(instance, placement))
        run, units = min((run, units), other, key=lambda attempt: len(attempt[0].stuck))
    if not run.stuck:
        return Approach(after(instance, units), (), 0)
    direct(_reached(instance, run).placement)
    more = _with_more_moves(instance, len(run.stuck))
    return _reached(instance, with_stopovers(more, units, run, None, over))


def _attempt(instance: Instance, placement: Placement) -> tuple[Run, list[Unit]]:
    units = units_of(instance, difference(instance, placement))
    return Run(instance, units), units


def after(instance: Instance, units: Iterable[Unit]) -> Placement:
    """Return where the pods are when units have been done."""
    return changed(instance.current, (change for unit in units for change in unit.changes))


def _reached(instance: Instance, run: Run) -> Approach:
    done: Sequence[Unit] = [unit for unit, _ in run.done]
    limit = instance.model.limits.moves
    lacking = 0
    if limit is not None:
        lacking = max(0, sum(unit.moves for unit in done) - limit)
        while sum(unit.moves for unit in done) > limit:
            done = done[:-1]  # what comes last nobody has waited for
    return Approach(after(instance, done), tuple(run.stuck), lacking)


def _with_more_moves(instance: Instance, moves: int) -> Instance:
    limits = instance.model.limits
    if limits.moves is None:
        return instance
    return with_model(instance, limits=limits.model_copy(update={"moves": limits.moves + moves}))


def paired(instance: Instance, placement: Placement) -> Placement:
    """Return a placement that is as good and as legal, whose moves wait for each other less.

    Pods of separate jobs that nothing tells apart may take each other's new places. Whenever one
    of these has room, that of the equal pods takes it which leaves most of what others wait for.
    """
    merged = merge_pods(instance)
    if merged.instance is instance:
        return placement
    class_of = {s: i for i, members in enumerate(merged.members) for s in members}
    placement = merged.expand(merged.shrink(placement))
    moves = difference(instance, placement).moves
    spots = {change.podset: dict(placement.podsets[change.podset]) for change in moves}
    for change in moves:
        assert change.target is not None, "a move has one"
        spots[change.podset][change.target] -= 1
    for leaving, target in _pairs(instance, moves, class_of):
        there = spots[leaving.podset]
        there[target] = there.get(target, 0) + 1
    return placement.replace({s: dict(sorted(there.items())) for s, there in spots.items()})


def _pairs(
    instance: Instance, moves: Sequence[Change], class_of: Mapping[int, int]
) -> list[tuple[Change, Spot]]:
    """Pods that leave and the places they go to, in the order in which these have room.

    Those without room come last, as they were.
    """
    ledger = Ledger(instance)
    free: dict[Key, int] = {}
    wanted: Counter[Key] = Counter()
    leaving: defaultdict[int, list[tuple[Change, _Flow]]] = defaultdict(list)
    coming: deque[tuple[int, Spot, _Flow]] = deque()
    for change in moves:
        assert change.source is not None, "a move has one"
        assert change.target is not None, "a move has one"
        kind = class_of[change.podset]
        leaving[kind].append((change, tuple(taken(instance, change.podset, change.source))))
        coming.append((kind, change.target, tuple(taken(instance, change.podset, change.target))))
        wanted.update(dict(coming[-1][2]))
        for key, _ in (*leaving[kind][-1][1], *coming[-1][2]):
            free.setdefault(key, ledger.free(key))

    def relief(flow: _Flow) -> float:
        lacking = ((amount, wanted[key] - free[key]) for key, amount in flow)
        return sum(min(1.0, amount / lack) for amount, lack in lacking if lack > 0)

    found: list[tuple[Change, Spot]] = []
    parked = 0
    while parked < len(coming):
        kind, target, needs = coming.popleft()
        if any(free[key] < amount for key, amount in needs):
            coming.append((kind, target, needs))
            parked += 1
            continue
        parked = 0
        could = leaving[kind]
        best = max(range(min(LOOKED_AT, len(could))), key=lambda i: relief(could[i][1]))
        change, frees = could.pop(best)
        found.append((change, target))
        for key, amount in needs:
            free[key] -= amount
            wanted[key] -= amount
        for key, amount in frees:
            free[key] += amount
    return found + [(leaving[kind].pop(0)[0], target) for kind, target, _ in coming]
