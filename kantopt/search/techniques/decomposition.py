"""Parts that share nothing, searched apart: what is hard is hard in one part at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kantopt.budget import Budget
from kantopt.clock import elapsed
from kantopt.problem.derived.parts import Part
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.engine.crew import Crew, Ended, Errand, Message, Search
from kantopt.search.engine.desk import Desk
from kantopt.search.engine.known import Bound
from kantopt.search.engine.told import Asked, Found, Note
from kantopt.search.parts.assembly import Assembly
from kantopt.search.techniques.cp_sat import counts

_LEAST = 0.2
"""Seconds below which another turn of a part is not worth its while."""
_LOOK = 0.05
"""Most seconds to wait at once: the planner may have news, and a signal must be seen soon."""
_PATIENCE = 10
"""Telling what follows for the whole may take one part in so many of the time."""


def apart(
    desk: Desk, parts: Sequence[Part], tiers: Sequence[Tier], budget: Budget, searched: Search
) -> bool:
    """Search the parts of a question; say whether it provably has no legal placement at all.

    Parts are searched in processes of their own, as many at a time as there are workers, small
    ones first. Each may take an equal part of the time left, so what one does not need the others
    have, and those that the clock has cut have another turn if there is time. A run that must be
    repeatable searches one after the other, and each has work in proportion to its size.

    Every better answer to a part makes, with the best answers to the others, a better placement
    of the whole. For the bounds of the whole see :meth:`Assembly.bounds`.

    Parameters
    ----------
    parts
        Two or more.
    tiers
        Those of the question, from the first on, that are sums over the parts.
    budget
        What may be spent on it.
    searched
        What searches a part.
    """
    run = _Run(desk, parts, tiers, budget)
    with Crew(run.size, parts, tiers, searched, desk.tally.without) as crew:
        run.search(crew)
    run.tell()
    return run.infeasible


class _Run:
    """Who has a turn when, and what has come of it."""

    def __init__(
        self, desk: Desk, parts: Sequence[Part], tiers: Sequence[Tier], budget: Budget
    ) -> None:
        self.infeasible = False
        self._desk, self._parts, self._budget = desk, parts, budget
        self._repeatable = budget.deadline.deterministic
        best = desk.incumbent
        start = None if best.missing else best.placement
        self._assembly = Assembly(desk.instance, parts, tiers, start)
        self._members = self._assembly.members
        self._sizes = [1 + counts(part.instance, moves=True) for part in parts]
        self._todo = [p for p, member in enumerate(self._members) if not member.best.optimal]
        self._todo.sort(key=lambda p: (self._sizes[p], p))
        self._again: list[int] = []
        self._ended = 0
        self._all = len(self._todo)
        self._work = sum(self._sizes[p] for p in self._todo)
        self._workers: dict[int, int] = {}
        self._notes: set[str] = set()
        self._news, self._next = False, 0.0
        began = elapsed()
        self.tell()
        self._deadline = budget.deadline.less(elapsed() - began)
        self.size = 1 if self._repeatable else max(1, min(budget.workers, len(self._todo)))

    def search(self, crew: Crew) -> None:
        """Give the parts their turns."""
        while not self._deadline.over() and not self.infeasible:
            if not self._todo and crew.free == self.size:
                if not self._again or self._deadline.remaining() < _LEAST:
                    return
                self._todo, self._again = self._again, []
            while self._todo and crew.free:
                self._send(crew)
            for p, message in crew.messages(_LOOK):
                self._take(p, message)
            if self._desk.refresh() and not self._desk.incumbent.missing:
                for p in self._assembly.take(self._desk.incumbent.placement):
                    self._news = True
                    crew.offer(p, self._members[p].best.placement)
            if self._news and not self._repeatable and elapsed() >= self._next:
                self.tell()

    def tell(self) -> None:
        """Tell what follows for the whole from what is known of the parts."""
        self._news = False
        began = elapsed()
        desk = self._desk
        placement = self._assembly.placement()
        if placement is not None:
            desk.found(placement)
        best = desk.incumbent
        if not best.missing:
            for bound in self._assembly.bounds(best.values):
                if bound.bound > best.floor(bound.tier):
                    desk.proved(bound.tier, bound.bound, bound.locks, bound.source)
        self._next = elapsed() + _PATIENCE * (elapsed() - began)

    def _send(self, crew: Crew) -> None:
        """Have the next part searched, unless what came since has closed it."""
        left, budget = len(self._todo), self._budget
        p = self._todo.pop(0)
        member = self._members[p]
        if member.best.optimal:
            return
        workers, deadline, work = budget.workers, budget.deadline, budget.work
        if not self._repeatable:
            idle = workers - sum(self._workers.values())
            workers = max(1, idle // min(left, crew.free))
            turns = -(-left // self.size)
            share = self._deadline.remaining() / turns
            deadline = replace(deadline, at=elapsed() + share)
        if work is not None:
            work = work * self._sizes[p] / self._work
        self._workers[p] = workers
        given = replace(budget, deadline=deadline, workers=workers, work=work)
        best = member.best
        crew.send(Errand(p, best.placement, best.known.proved(), given))

    def _take(self, p: int, message: Message) -> None:
        member = self._members[p]
        match message:
            case Found(podsets):
                self._news |= member.take(Placement(podsets))
            case Bound():
                member.best.known.add(message)
                self._news = True
            case Asked(parameters):
                self._desk.asked(parameters)
            case Note(text):
                self._note(text)
            case Ended(infeasible, cut, fault):
                del self._workers[p]
                self.infeasible = self.infeasible or infeasible
                if fault:
                    nodes = len(self._parts[p].share.nodes)
                    self._note(f"the search of a part of {nodes} nodes ended early: {fault}")
                elif cut and not member.best.optimal and not self._repeatable:
                    self._again.append(p)
                self._ended += 1
                # No clock tells a run that must be repeatable when to tell.
                if self._repeatable and self._ended % max(1, self._all // 16) == 0:
                    self.tell()

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            self._desk.note(text)
