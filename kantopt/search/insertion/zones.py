"""A zone for some jobs, as Kant's E-Spread has it: their nodes first, the general pool after."""

from __future__ import annotations

from collections.abc import Callable

from kantopt.schema.zone import Zone
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.shapes import Mask, mask_of
from kantopt.search.state import State
from kantopt.search.strategy import Strategy


def placer_of(state: State, strategy: Strategy, over: Callable[[], bool] = lambda: False) -> Placer:
    """Return who places jobs by a strategy, in the zone of the model by that of the zone.

    Who places job by job over time asks this as well: ``place(j)`` for one job after the other.
    """
    if strategy is Strategy.E_SPREAD:
        strategy = Strategy.E_BINPACK
    zone = state.instance.model.zone
    if zone is None:
        return Placer(Scores(state, strategy, over))
    return ZonedPlacer(state, strategy, zone, over)


class ZonedPlacer(Placer):
    """Places jobs of the zone there as long as it has room, all others by one strategy.

    That others are barred from the zone is not said here: their pods are not allowed there.
    """

    def __init__(
        self, state: State, strategy: Strategy, zone: Zone, over: Callable[[], bool]
    ) -> None:
        super().__init__(Scores(state, strategy, over))
        self._jobs = state.instance.zone_jobs
        self._inside = mask_of(state.size, state.instance.zone_nodes)
        self._zone = Placer(Scores(state, Strategy(zone.strategy), over))

    def place(self, j: int, *, within: Mask | None = None) -> bool:
        """Place a job in its zone; where that is full, outside; a gang at last on both sides."""
        if j not in self._jobs:
            return super().place(j, within=within)
        return (
            self._zone.place(j, within=_both(within, self._inside))
            or super().place(j, within=_both(within, ~self._inside))
            or super().place(j, within=within)
        )

    def place_more(self, j: int, *, within: Mask | None = None) -> None:
        """Place members of a gang above its minimum, in its zone first."""
        if j in self._jobs:
            self._zone.place_more(j, within=_both(within, self._inside))
        super().place_more(j, within=within)

    def place_some(self, j: int, s: int, pods: int, within: Mask | None) -> bool:
        """Place a number of pods of a job that is no gang, all in its zone or all by the rest."""
        if j in self._jobs and self._zone.place_some(j, s, pods, _both(within, self._inside)):
            return True
        return super().place_some(j, s, pods, within)

    def anywhere(self, j: int) -> bool:
        """Whether nothing has a say in where a job goes, a zone of its own included."""
        return j not in self._jobs and super().anywhere(j)


def _both(within: Mask | None, side: Mask) -> Mask:
    return side if within is None else within & side
