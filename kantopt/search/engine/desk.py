"""What techniques share: the question, the incumbent, the bounds, and a line to the planner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from kantopt.budget import Budget
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.known import Bound, Numbers, Source
from kantopt.search.engine.technique import BY_WISH, Tally, Technique
from kantopt.search.engine.told import Asked, Found, Note
from kantopt.verify.rules import is_legal

if TYPE_CHECKING:
    from kantopt.search.techniques.neighbourhoods import Neighbourhoods


@dataclass(frozen=True, slots=True)
class Line:
    """The way to the planner: what it is told, and the news that it has."""

    found: Callable[[Placement], None]
    bound: Callable[[Bound], None]
    note: Callable[[str], None]
    """Told what the reader of the plan should know."""
    news: Callable[[], Placement | None] = lambda: None
    """Returns a legal placement that was found elsewhere since it was asked last."""
    begun: Callable[[Technique], None] = lambda _: None
    """Told which technique is at work from now on."""
    left_out: Callable[[Technique, str], None] = lambda *_: None
    """Told which technique does not run now, and why not."""
    asked: Callable[[Asked], None] = lambda _: None
    """Told the parameters with which CP-SAT is at work."""


def line_to(
    connection: Connection,
    expand: Callable[[Placement], Placement] = lambda placement: placement,
    shrink: Callable[[Placement], Placement] = lambda placement: placement,
) -> Line:
    """Return the way to a planner in another process.

    ``expand`` turns a placement found here into one of the planner's question, ``shrink`` back.
    """

    def news() -> Placement | None:
        latest: Placement | None = None
        while connection.poll():
            latest = Placement(connection.recv().podsets)
        return None if latest is None else shrink(latest)

    return Line(
        found=lambda placement: connection.send(Found(expand(placement).podsets)),
        bound=connection.send,
        note=lambda text: connection.send(Note(text)),
        news=news,
        asked=connection.send,
    )


class Desk:
    """A question, its incumbent, and the ways to better it.

    Parameters
    ----------
    start
        A placement that is legal but for required jobs that it may leave out.
    forbidden
        Placements whose moves have no order; what is searched leaves them out, and proves nothing.
    without
        Names of techniques that are left out.
    """

    def __init__(
        self,
        instance: Instance,
        tiers: Sequence[Tier],
        start: Placement,
        forbidden: Sequence[Placement],
        budget: Budget,
        line: Line,
        without: Collection[str] = (),
    ) -> None:
        self.instance = instance
        self.tiers = tuple(tiers)
        self.forbidden = tuple(forbidden)
        self.budget = budget
        self.tally = Tally(without)
        """What techniques did here; whoever listens counts what several desks have told."""
        self.incumbent = Incumbent(instance, tiers, start, found=line.found, tally=self.tally)
        self._line = line
        self.looked_at: dict[str, tuple[int, ...]] = {}
        """Values at which bounds were asked for last of techniques that only the values change."""
        self.patience = 1.0
        """Of the time of the turn that it is, what may pass without a better plan."""
        self.glance = False
        """Whether the turn is a first look, which ends where others may be quicker."""
        self.come_true = False
        """Whether plans came of all counts of domains at a first look, as good as these were."""
        self.neighbourhoods: Neighbourhoods | None = None
        """The large neighbourhood search, which keeps what it has learnt from turn to turn."""
        self._noted: set[str] = set()
        self._asked: set[str] = set()

    def found(self, placement: Placement) -> None:
        """Take a placement that a technique has found, legal but for required jobs that it may
        leave out, and pass it on if it is the best."""
        self.incumbent.offer(placement, legal=True)

    def judged(self, placement: Placement) -> bool:
        """Take a placement if it is legal but for required jobs; say whether it is."""
        legal = is_legal(self.instance, placement)
        if legal:
            self.found(placement)
        return legal

    def proved(
        self,
        tier: int,
        bound: int,
        locks: Sequence[int],
        source: Source,
        numbers: Numbers | None = None,
    ) -> None:
        """Take a lower bound on a tier for plans no worse than ``locks`` above it; pass it on."""
        if self.forbidden:
            return
        fact = Bound(tier, bound, tuple(locks), source, numbers)
        self.incumbent.known.add(fact)
        self._line.bound(fact)

    def note(self, text: str) -> None:
        """Pass on what the reader of the plan should know, once."""
        if text not in self._noted:
            self._noted.add(text)
            self._line.note(text)

    def asked(self, parameters: Iterable[str]) -> None:
        """Pass on parameters of CP-SAT's that have not been passed on before."""
        new = tuple(word for word in parameters if word not in self._asked)
        if new:
            self._asked.update(new)
            self._line.asked(Asked(new))

    def may(self, technique: Technique) -> bool:
        """Whether a technique is not left out by wish; pass it on of one that is."""
        if technique.name in self.tally.without:
            self.leave_out(technique, BY_WISH)
        return technique.name not in self.tally.without

    def leave_out(self, technique: Technique, why: str) -> None:
        """Pass on why a technique does not run now, if it never has."""
        use = self.tally.of(technique.name)
        if not use.runs and use.why_not != why:
            use.why_not = why
            self._line.left_out(technique, why)

    def before(self, name: str) -> int:
        """How often the technique that is at work was at work before."""
        return max(0, self.tally.of(name).runs - 1)

    def applies(self, technique: Technique) -> bool:
        """Whether a technique is to run now; pass on why not."""
        if not self.may(technique):
            return False
        self.refresh()
        why_not = technique.hinders(self)
        if why_not:
            self.leave_out(technique, why_not)
        return not why_not

    def begin(self, technique: Technique) -> None:
        """Pass on which technique is at work from now on."""
        self.tally.began(technique.name)
        self._line.begun(technique)

    def refresh(self) -> bool:
        """Take the news from the planner; say whether they bettered the incumbent."""
        news = self._line.news()
        return news is not None and self.incumbent.adopt(news)

    def done(self) -> bool:
        """Whether the time is up or nothing is left to gain."""
        if self.over():
            return True
        if not self.incumbent.optimal:
            return False
        self.tell_arithmetic()
        return True

    def tell_arithmetic(self) -> None:
        """Pass on what arithmetic says here: of pods merged it may say more than of each alone."""
        for i in range(len(self.tiers)):
            values = self.incumbent.values
            bound = self.incumbent.known.bound(i, values)
            if bound.source == "arithmetic" and bound.bound and not self.forbidden:
                self._line.bound(Bound(i, bound.bound, values[:i], "relaxation-search"))

    def over(self) -> bool:
        """Whether the time is up; a deterministic search counts its work instead."""
        return self.budget.deadline.over()
