"""Where nearby could the pods be, if what is wanted has no order?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kantopt.problem.difference import difference
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.order.approach import after, approach
from kantopt.search.order.run import Run
from kantopt.search.order.units import Unit, units_of
from kantopt.search.preemption.put_back import PutBack
from kantopt.search.preemption.victims import Victims
from kantopt.search.state import State
from kantopt.verify.rules import check

EVICTIONS = 6
"""Victims tried, the cheapest first."""


def concessions(
    instance: Instance, placement: Placement, over: Callable[[], bool] = lambda: False
) -> Iterator[Placement]:
    """Yield legal placements close to one that has no order, the closest first.

    One pod of a circle is evicted instead of moved, where the model allows that: the least
    important, then the cheapest. Or whatever has no order is left undone, with stop-overs for the
    rest or without; and what came last, more and more of it, if the rest is not legal then.
    """
    units = units_of(instance, difference(instance, placement))
    run = min(
        (Run(instance, units, last) for last in (None, "evict")), key=lambda run: len(run.stuck)
    )
    for unit in sorted(filter(_may_evict, run.stuck), key=_cost)[:EVICTIONS]:
        change = unit.changes[0]
        assert change.target is not None, "a move has one"
        spots = dict(placement.podsets[change.podset])
        spots[change.target] -= 1
        yield from _legal(instance, placement.replace({change.podset: spots}))
    reached = approach(instance, placement, over).placement
    near = list(_legal(instance, reached))
    yield from near
    done = [unit for unit, _ in run.done]
    count, fewer = len(done), 1
    while count >= 0:  # a few looks, for which there is always time: else nothing would be done
        # Pods may have come near one that had yet to leave: then what came last is left undone too.
        for close in _legal(instance, after(instance, done[:count])):
            if close not in near:
                near.append(close)
                yield close
            if not over():
                return
        count, fewer = (max(0, count - fewer) if count else -1), 2 * fewer


def _may_evict(unit: Unit) -> bool:
    evictions = freedom_of(unit.instance).evictions[unit.changes[0].podset]
    return unit.kind == "move" and len(unit.changes) == 1 and evictions > 0


def _cost(unit: Unit) -> tuple[int, int, int]:
    podset = unit.instance.podsets[unit.changes[0].podset]
    return unit.instance.jobs[podset.job].priority, podset.disruption_cost, podset.index


def _legal(instance: Instance, placement: Placement) -> Iterator[Placement]:
    """Yield a placement if it is legal, or becomes so when victims come back that it leaves room.

    For whom they had to go may be among what is left undone.
    """
    broken = {fault.rule for fault in check(instance, placement)} - {Rule.REQUIRED}
    if broken == {Rule.PRIORITY}:
        state = State(instance)
        put_back = PutBack(Victims(state))
        state.go_to(placement)
        if not put_back.settles(0):
            return
        placement = state.placement()
        broken = {fault.rule for fault in check(instance, placement)} - {Rule.REQUIRED}
    if not broken:
        yield placement
