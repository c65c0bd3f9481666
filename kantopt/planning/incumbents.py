"""The best placement so far, those before it, and what is known of the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.search.engine.technique import Tally
from kantopt.search.known import Bound, Known
from kantopt.search.presolve import presolved
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.step import Violation

KEPT = 6
"""How many placements before the best are remembered, beside the first."""


@dataclass(frozen=True, slots=True)
class Incumbent:
    """A placement that was judged, and who found it."""

    placement: Placement
    values: tuple[int, ...]
    missing: int
    """Required jobs that it leaves out: nothing else may be wrong with it."""
    by: str

    @property
    def key(self) -> tuple[int, ...]:
        """What to compare: the smaller the better."""
        return (self.missing, *self.values)


class Incumbents:
    """Placements that were judged legal, each better than the one before it.

    Parameters
    ----------
    instance
        The question.
    tiers
        What is minimised.
    start
        A placement that is legal but for required jobs it may leave out.
    by
        Who found it.
    tally
        What techniques did before, where a run begins anew.
    """

    def __init__(
        self,
        instance: Instance,
        tiers: Sequence[Tier],
        start: Placement,
        by: str,
        tally: Tally | None = None,
    ) -> None:
        self.instance = instance
        self.searched = presolved(instance)
        """The question as searches are asked it: without rules that bind nobody."""
        self.tiers = tuple(tiers)
        self.known = Known(instance, tiers)
        missing = len(check(instance, start, (Rule.REQUIRED,)))
        values = measure(instance, start, tiers)
        self.history = [Incumbent(start, values, missing, by)]
        self.finders = {by}
        self.tally = tally or Tally()
        """What each technique did."""

    @property
    def best(self) -> Incumbent:
        """The best so far."""
        return self.history[-1]

    @property
    def optimal(self) -> bool:
        """Whether the best is proved to be the best there is."""
        return not self.best.missing and self.known.optimal(self.best.values)

    def offer(self, placement: Placement, by: str) -> Violation | None:
        """Judge a placement and take it if it is the best; return what is wrong with it, if it is.

        One that leaves required jobs out is taken as long as none leaves out fewer.
        """
        values = measure(self.instance, placement, self.tiers)
        if not self.best.missing and values >= self.best.values:
            return None
        faults = check(self.instance, placement)
        for fault in faults:
            if fault.rule != Rule.REQUIRED:
                return fault
        incumbent = Incumbent(placement, values, len(faults), by)
        if incumbent.key < self.best.key:
            self.history = [*self.history[:1], *self.history[1:][-KEPT:], incumbent]
            self.finders.add(by)
            self.tally.of(by).plans += 1
        return None

    def prove(self, bound: Bound, by: str) -> None:
        """Take a bound that a technique has proved."""
        higher = bound.bound > self.known.bound(bound.tier, self.best.values).bound
        self.known.add(bound)
        if higher and self.known.bound(bound.tier, self.best.values) is bound:
            self.tally.of(by).bounds += 1
