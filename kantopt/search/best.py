"""The best placement that a search has, as the judge knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check


class Best:
    """A placement that better ones take the place of, each judged before.

    Parameters
    ----------
    instance, tiers
        The question.
    start
        A legal placement, but for required jobs that may be missing.
    found
        Told each improvement.
    enough
        Whether tier values are known to be as good as they can be.
    """

    def __init__(
        self,
        instance: Instance,
        tiers: Sequence[Tier],
        start: Placement,
        found: Callable[[Placement], None] = lambda _: None,
        enough: Callable[[tuple[int, ...]], bool] = lambda _: False,
    ) -> None:
        self.instance = instance
        self.tiers = tuple(tiers)
        self._found = found
        self._enough = enough
        self.adopt(start)

    def adopt(self, placement: Placement) -> None:
        """Take a placement that someone else has found and judged."""
        self.placement = placement
        self.values = measure(self.instance, placement, self.tiers)
        self.missing = len(check(self.instance, placement, (Rule.REQUIRED,)))
        """Required jobs that it leaves out."""
        self._floors: tuple[int, ...] | None = None

    @property
    def floors(self) -> tuple[int, ...]:
        """Numbers below which no plan as good in the tiers above can go, by arithmetic alone."""
        if self._floors is None:
            self._floors = bounds(self.instance, self.tiers, self.values)
        return self._floors

    @property
    def done(self) -> bool:
        """Whether nothing is left to gain, as arithmetic or others know."""
        return self.values == self.floors or self._enough(self.values)

    def offer(self, placement: Placement, *, as_good: bool = False) -> bool:
        """Take a placement if it is legal and better; say whether it is.

        One that leaves required jobs out is taken as long as none leaves out fewer.

        Parameters
        ----------
        as_good
            Say yes as well to one that is legal and as good: it is not taken, but a search may go
            on from it.
        """
        values = measure(self.instance, placement, self.tiers)
        worse = values > self.values or (values == self.values and not as_good)
        if worse and not self.missing:
            return False
        faults = check(self.instance, placement)
        if any(fault.rule != Rule.REQUIRED for fault in faults):
            return False
        key, known = (len(faults), values), (self.missing, self.values)
        if key > known or (key == known and not as_good):
            return False
        if key < known:
            self.placement, self.values, self.missing = placement, values, len(faults)
            self._floors = None
            self._found(placement)
        return True
