"""How near to a placement do moves come that have an order?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kantopt.problem.derived.focus import with_model
from kantopt.problem.difference import changed, difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.order.pairing import paired
from kantopt.search.order.run import Run
from kantopt.search.order.stopovers import with_stopovers
from kantopt.search.order.units import Unit, units_of


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
