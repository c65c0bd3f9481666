"""The best placement that can be carried out: one with a legal order of actions, and the order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kantopt.planning.solving.together import search_together
from kantopt.problem.actions import Wave
from kantopt.problem.placement import Placement
from kantopt.verify.rules import check

if TYPE_CHECKING:
    from kantopt.planning.solving.run import Run

AGAIN = 2
"""Searches for a placement with an order after the first one, where the clock decides nothing."""
Key = tuple[int, ...]
"""Required jobs that a placement leaves out, then its tier values: the smaller the better."""
NO_ORDER = (
    "a placement was found that is better, but no legal order of the steps to it: this plan is the "
    "best of those that have one"
)
"""Warns of what a plan is not, where it is not proved to be the best."""


def executable(run: Run) -> tuple[Placement, tuple[Wave, ...]]:
    """Return the best placement of a run that has a legal order of actions, and that order.

    Where the best one has none, it is forbidden and the search goes on while there is time.
    Then the best of these is taken that has an order: what the search found, the incumbents
    before, placements close to those without an order, also with single moves added to what is
    left of these, and at last doing nothing. When the time is nearly up, the latest incumbent that
    has an order is the plan, and only where none has, what can be done of the best.
    """
    return _Orders(run).best()


class _Orders:
    """The best placement with an order so far, and those that were found to have none."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.over = run.ordering.cuts
        self.forbidden: list[Placement] = []
        self.ordered: tuple[Key, Placement, tuple[Wave, ...]] | None = None

    def best(self) -> tuple[Placement, tuple[Wave, ...]]:
        """Try all incumbents, the latest first, and what is close to those without an order."""
        run = self.run
        found = [each.placement for each in run.incumbent.history]
        candidates = [placement for placement in found if placement != run.instance.current]
        while candidates:
            placement = candidates.pop()
            if not self._better(placement):
                continue
            if self._take(placement):
                break
            self.forbidden.append(placement)
            if self.over():
                continue
            self._try_close_to(placement)
            if self.ordered and self._optimal(self.ordered[0]):
                break
            if self._may_search_again():
                others = search_together(run, tuple(self.forbidden))
                candidates += [each.placement for each in others.history[1:]]
        if self.forbidden and self.ordered is None:
            self._try_close_to(self.forbidden[0])
        if any(self._better(other) for other in self.forbidden):
            run.warnings.append(NO_ORDER)
        return self.ordered[1:] if self.ordered else (run.instance.current, ())

    def _take(self, placement: Placement) -> bool:
        """Take a placement as the best one if it has an order."""
        from kantopt.search.order.sequence import sequence

        waves = sequence(self.run.instance, placement, self.over)
        if waves is None:
            return False
        self.ordered = (self._key(placement), placement, waves)
        return True

    def _try_close_to(self, placement: Placement) -> None:
        """Take the best that has an order of placements close to one without."""
        from kantopt.search.order.concessions import concessions

        for close in concessions(self.run.instance, placement, self.over):
            for other in (close, *self._filled_up(close)):
                if self._better(other) and self._take(other) and self.over():
                    return

    def _filled_up(self, placement: Placement) -> list[Placement]:
        """Spend the moves that a placement has left over on single moves, each of which is legal.

        What a circle was to bring can mostly be had elsewhere.
        """
        if self.over():
            return []
        from kantopt.search.tidy.improve import tidy

        run = self.run
        found: list[Placement] = []

        def legal(other: Placement) -> bool:
            if check(run.instance, other):
                return False
            found.append(other)
            return True

        deadline = run.ordering
        tidy(run.instance, placement, run.tiers, deadline, run.options.seed, legal)
        return sorted(found, key=self._key)[:1]

    def _may_search_again(self) -> bool:
        run = self.run
        # Where work is counted, each search has as much of it as the first one had.
        enough = run.deadline.deterministic and len(self.forbidden) > AGAIN
        late = run.searching.over()
        return run.options.engine != "fast" and not (late or enough)

    def _better(self, placement: Placement) -> bool:
        """Whether a placement is better than the best that has an order."""
        return self.ordered is None or self._key(placement) < self.ordered[0]

    def _optimal(self, key: Key) -> bool:
        """Whether bounds, which are of plans that leave nobody out, tell that none is better."""
        return not key[0] and self.run.incumbent.known.optimal(key[1:])

    def _key(self, placement: Placement) -> Key:
        return self.run.incumbent.judged(placement).key
