"""Which of several equal pods goes where: so that as many as can be find room at once."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence

from kantopt.problem.cluster import Spot
from kantopt.problem.derived.classes import merge_pods
from kantopt.problem.difference import Change, difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.order.ledger import Ledger
from kantopt.search.order.units import Key, taken

LOOKED_AT = 100
"""Pods of one class that could leave for a place that are compared."""

_Flow = tuple[tuple[Key, int], ...]


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
