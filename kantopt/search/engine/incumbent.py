"""The incumbent: the best placement so far as the judge knows it, and bounds on the optimum.

There is one for each question that is asked: in the planner, in the solver's process, for each
part, and where a search goes on from a placement by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.search.engine.known import Bound, Known
from kantopt.search.engine.technique import Tally
from kantopt.search.presolve import presolved
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.step import Violation

_REQUIRED = (Rule.REQUIRED,)


@dataclass(frozen=True, slots=True)
class Find:
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


class Incumbent:
    """A placement that better ones take the place of, each judged before.

    Parameters
    ----------
    instance, tiers
        The question.
    start
        A placement that is legal but for required jobs that it may leave out.
    by
        Who found it.
    found
        Told each placement that is offered and becomes the best.
    enough
        Whether tier values are known elsewhere to be as good as they can be.
    kept
        How many placements before the best are remembered, beside the first.
    tally
        What techniques did before, where a run begins anew.
    known
        What is proved of the question, by others as well; nothing so far if not given.
    """

    def __init__(
        self,
        instance: Instance,
        tiers: Sequence[Tier],
        start: Placement,
        by: str = "nobody",
        *,
        found: Callable[[Placement], None] = lambda _: None,
        enough: Callable[[tuple[int, ...]], bool] = lambda _: False,
        kept: int = 0,
        tally: Tally | None = None,
        known: Known | None = None,
    ) -> None:
        self.instance = instance
        self.tiers = tuple(tiers)
        self.known = known or Known(instance, tiers)
        self.tally = tally or Tally()
        """What each technique did."""
        self.fault: Violation | None = None
        """What was wrong with the placement that was offered last, if it was looked at closely."""
        self._found = found
        self._enough = enough
        self._kept = kept
        self.best = self._find(start, by)
        self.history = [self.best]
        self.finders = {by}

    def _find(self, placement: Placement, by: str) -> Find:
        values = measure(self.instance, placement, self.tiers)
        return Find(placement, values, len(check(self.instance, placement, _REQUIRED)), by)

    def judged(self, placement: Placement) -> Find:
        """Return what is known of a placement: it is judged anew unless it is in the history."""
        remembered = (find for find in self.history if find.placement is placement)
        return next(remembered, None) or self._find(placement, "")

    def _take(self, find: Find) -> None:
        self.best = find
        first, *past = self.history
        self.history = [first, *past[max(0, len(past) - self._kept) :], find]
        self.finders.add(find.by)

    @property
    def placement(self) -> Placement:
        """The best placement so far."""
        return self.best.placement

    @property
    def values(self) -> tuple[int, ...]:
        """Its tier values."""
        return self.best.values

    @property
    def missing(self) -> int:
        """Required jobs that it leaves out."""
        return self.best.missing

    @cached_property
    def searched(self) -> Instance:
        """The question as searches are asked it: without rules that bind nobody."""
        return presolved(self.instance)

    @property
    def floors(self) -> tuple[int, ...]:
        """Numbers below which no plan as good in the tiers above can go, as far as is known."""
        return self.known.bounds(self.values)

    @property
    def optimal(self) -> bool:
        """Whether the best is proved to be the best there is."""
        return not self.missing and self.known.optimal(self.values)

    @property
    def done(self) -> bool:
        """Whether nothing is left to gain in any tier, as is known here or elsewhere."""
        return self.known.optimal(self.values) or self._enough(self.values)

    def leaves_out(self) -> bool:
        """Whether more may be placed by a plan that is no worse before that."""
        return any(
            tier.metric is Metric.UNPLACED and self.values[i] > self.floor(i)
            for i, tier in enumerate(self.tiers)
        )

    def floor(self, tier: int) -> int:
        """Return a number below which no plan as good in the tiers above can go in a tier."""
        return self.known.bound(tier, self.values).bound

    def offer(
        self, placement: Placement, by: str = "", *, legal: bool = False, as_good: bool = False
    ) -> bool:
        """Judge a placement and take it if it is legal and better; say whether it is.

        One that leaves required jobs out is taken as long as none leaves out fewer.

        Parameters
        ----------
        by
            Who found it.
        legal
            Whether it is known to be legal but for required jobs: then only these are looked for.
        as_good
            Say yes as well to one that is legal and as good: it is not taken, but a search may go
            on from it.
        """
        self.fault = None
        values = measure(self.instance, placement, self.tiers)
        worse = values > self.values or (values == self.values and not as_good)
        if worse and not self.missing:
            return False
        faults = check(self.instance, placement, _REQUIRED if legal else tuple(Rule))
        self.fault = next((fault for fault in faults if fault.rule != Rule.REQUIRED), None)
        if self.fault is not None:
            return False
        find = Find(placement, values, len(faults), by)
        if find.key >= self.best.key:
            return as_good and find.key == self.best.key
        self._take(find)
        self.tally.of(by).plans += 1
        self._found(placement)
        return True

    @property
    def first_open(self) -> Tier | None:
        """The first tier that is not proved."""
        tiers = enumerate(self.tiers)
        return next((tier for i, tier in tiers if self.floor(i) < self.values[i]), None)

    def adopt(self, placement: Placement) -> bool:
        """Take a placement that someone else has found and judged, if it is better; say whether.

        Nobody is told: whoever waits here for what is found has sent it.
        """
        find = self._find(placement, "")
        better = find.key < self.best.key
        if better:
            self._take(find)
        return better

    def closed(self, tier: int, bound: int, locks: tuple[int, ...]) -> None:
        """Take what CP-SAT has proved of a tier for plans no worse than ``locks`` above it."""
        self.prove(Bound(tier, bound, locks, "cp-sat"))

    def prove(self, bound: Bound, by: str = "") -> None:
        """Take a bound that has been proved, and who proved it."""
        higher = bound.bound > self.known.bound(bound.tier, self.values).bound
        self.known.add(bound)
        if higher and self.known.bound(bound.tier, self.values) is bound:
            self.tally.of(by).bounds += 1
