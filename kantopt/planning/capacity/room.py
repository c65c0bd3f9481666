"""Room for copies under one limit of moves: the plan that places most of them, and its proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kantopt.clock import Deadline
from kantopt.planning.capacity.copies import MOVES, Copies, Form, unplaced_tier
from kantopt.planning.capacity.slots import Freed, free_slots
from kantopt.planning.solving.executable import NO_ORDER, executable
from kantopt.planning.solving.news import Tell
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.planning.solving.together import search_together
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.construct import How, construct
from kantopt.search.engine.known import Bound
from kantopt.search.order.sequence import sequence
from kantopt.search.reasons import first_reason
from kantopt.search.schedule import RELOCATION
from kantopt.search.strategy import Strategy
from kantopt.shares import (
    CAPACITY_ALL,
    CAPACITY_MOVES,
    CAPACITY_NOW,
    CAPACITY_RELOCATION,
    CAPACITY_SLOTS,
    LEAST,
    WRITING_CAPACITY,
)
from kantopt.verify.metrics import measure
from kantopt.verify.replay import replay

NAMED = 500
"""Copies in domains that are planned as jobs of their own; more of them are counted."""


@dataclass(frozen=True, slots=True)
class Found:
    """A verified plan for copies and what is known of the most that fit."""

    jobs: int
    bound: int
    moves: int
    fewest_moves: bool
    form: Form
    placement: Placement

    @property
    def proved(self) -> bool:
        """Whether no plan places more."""
        return self.jobs >= self.bound

    def bounded(self, bound: int) -> Found:
        """Return it with a bound that is no higher."""
        return replace(self, bound=max(self.jobs, min(self.bound, bound)))


@dataclass
class Search:
    """Looks for room: a run of the planner for each limit of moves."""

    copies: Copies
    most: int
    """No plan places more, by arithmetic."""
    options: Options
    tell: Tell = lambda _: None
    warnings: list[str] = field(default_factory=list)
    cut: bool = False
    """The clock or a signal has ended it."""

    def as_it_stands(self, most: int, deadline: Deadline) -> Found:
        """Place copies, of at most ``most``, one after the other: done however late it is.

        Copies that are counted are placed within moments; of others what takes no longer.
        """
        if not most:  # with none to place the question need not be built once more
            without = self.copies.counted(0) if self.copies.pods else self.copies.named(0)
            return Found(0, 0, 0, True, without, self.copies.nothing_placed())
        form = self._form(most, 0)
        instance = self.copies.asked(form, 0)
        until = Deadline(None) if form.pods else deadline.at_least(LEAST)
        placement = construct(instance, until, How(Strategy.BEST_FIT))
        if sequence(instance, placement) is None:
            placement = instance.current
        unplaced = measure(instance, placement, unplaced_tier(instance))[0]
        return Found(form.copies_at(instance, unplaced), most, 0, True, form, placement)

    def rooms(
        self, most_now: int | None, moves: int | None, deadline: Deadline, spent: float
    ) -> tuple[Found, Found, Found]:
        """Search under no moves, some and any.

        What is left to do then, reasons above all, takes about as long as what was done before,
        which took ``spent`` seconds.
        """
        writing = deadline.less(WRITING_CAPACITY)
        ending = writing.less(min(spent, 0.3 * deadline.remaining()))
        now, some, every = self._rooms(most_now, moves, ending)
        self.cut = ending.cuts()
        plans = (now, 0), (some, moves), (every, None)
        now, some, every = (self.whole(found, most, writing) for found, most in plans)
        return now, some, every

    def _rooms(
        self, most_now: int | None, moves: int | None, deadline: Deadline
    ) -> tuple[Found, Found, Found]:
        """What fits with fewer moves fits with more."""
        most = self.most if most_now is None else min(self.most, most_now)
        now = self.as_it_stands(most, deadline)
        if not now.proved:
            now = self.room(0, now, deadline.share(CAPACITY_NOW))
        if now.proved and now.jobs == self.most:
            return now, now, now
        limited = moves is not None
        until = deadline.share(CAPACITY_ALL) if limited else deadline
        every = _better(self.room(None, replace(now, bound=self.most), until), now)
        if moves is None or (every.proved and every.moves <= moves):
            some = every
        elif moves == 0:
            some = now
        else:
            some = _better(self.room(moves, replace(now, bound=every.bound), deadline), now)
            every = _better(every, some)
            if some.proved and some.jobs == every.jobs and every.proved:
                every = some
        some = some.bounded(every.bound)
        return now.bounded(some.bound), some, every

    def room(self, moves: int | None, known: Found, deadline: Deadline) -> Found:
        """Place as many copies as fit, of at most the bound, where so many pods may move."""
        if not known.bound or deadline.cuts():
            return known
        freed = None
        if moves != 0:
            known = self._relocated(known, moves, deadline)
        if moves != 0 and self.copies.pods and not self.copies.gathered:
            share = deadline.share(CAPACITY_SLOTS)
            freed = free_slots(self.copies, moves, self._begin, share)
        if freed is not None and freed.most_pods is not None:
            known = known.bounded(freed.most_pods // self.copies.pods)
        form = self._form(known.bound, moves)
        found = self._placed(form, moves, known, freed, deadline)
        return known.bounded(found.bound) if _merit(found) <= _merit(known) else found

    def _relocated(self, known: Found, moves: int | None, deadline: Deadline) -> Found:
        """Place copies one after the other, pods that are in the way of each moved elsewhere.

        That takes moments, and where free room lies in small pieces it is most of what there is.
        """
        form = self._form(known.bound, moves)
        soon = deadline.share(CAPACITY_RELOCATION)
        placed = by_relocation(self.copies, form, moves, soon, deadline.cuts)
        if placed is None:
            return known
        instance = self.copies.asked(form, moves)
        unplaced, moved = measure(instance, placed, (*unplaced_tier(instance), MOVES))
        jobs = form.copies_at(instance, unplaced)
        found = Found(jobs, max(jobs, known.bound), moved, moved == 0, form, placed)
        return found if _merit(found) > _merit(known) else known

    def _form(self, most: int, moves: int | None) -> Form:
        """Counted where a copy may lie anywhere or nothing moves, named while they are few.

        Of gangs in domains moves are found for each gang, and hardly for slices of one large set,
        nor for one that is spread.
        """
        anywhere = not (self.copies.gathered or self.copies.spread)
        counts = self.copies.pods and (moves == 0 or anywhere or most > NAMED)
        if counts:
            return self.copies.counted(most)
        if most > NAMED:
            self.warnings.append(f"no more than {NAMED} copies of several pod sets are placed")
        return self.copies.named(min(most, NAMED))

    def _begin(self, instance: Instance, tiers: tuple[Tier, ...], deadline: Deadline) -> Run:
        return Run(instance, tiers, self.options, deadline, self.tell)

    def _placed(
        self,
        form: Form,
        moves: int | None,
        known: Found,
        freed: Freed | None,
        deadline: Deadline,
    ) -> Found:
        """Place copies: first as many as fit, then by fewer moves."""
        instance = self.copies.asked(form, moves)
        tiers = (*unplaced_tier(instance), MOVES)
        run = self._begin(instance, tiers[:1], deadline.share(1 - CAPACITY_MOVES))
        # First what fits as pods are then, at once: mostly that is all.
        start = instance.current
        if freed is not None:
            rest = len(instance.podsets) - len(freed.placement.podsets)
            start = Placement((*freed.placement.podsets, *({} for _ in range(rest))))
        best_fit = Strategy.BEST_FIT
        searched = run.incumbent.searched
        filled = construct(searched, run.searching, How(best_fit, start=start))
        run.incumbent.offer(filled, best_fit)
        if known.jobs and len(known.placement.podsets) == len(instance.podsets):
            run.incumbent.offer(known.placement, RELOCATION.name)
        found = self._written(form, run, known, freed)
        if not found.proved:
            run.construct()
            search_together(run)
            found = self._written(form, run, found, freed)
        if found.moves and not found.fewest_moves and not deadline.cuts():
            other = self._by_fewer_moves(found, moves, run, freed, deadline)
            if (other.jobs, -other.moves) >= (found.jobs, -found.moves):
                found = other
        # What has no order is better by a part of a copy where no more copies fit.
        said = {*self.warnings, NO_ORDER} if found.proved else self.warnings
        self.warnings += [text for text in run.warnings if text not in said]
        return found

    def _by_fewer_moves(
        self, found: Found, moves: int | None, run: Run, freed: Freed | None, deadline: Deadline
    ) -> Found:
        """Place as many copies again, and no pod for a part of one."""
        whole = self.whole(found, moves, deadline)
        instance = self.copies.asked(whole.form, moves)
        fewer = self._begin(instance, (*unplaced_tier(instance), MOVES), deadline)
        if whole is found:
            for bound in run.incumbent.known.proved():
                fewer.incumbent.known.add(Bound(0, bound.bound, (), bound.source))
        fewer.keep(whole.placement)
        fewer.construct()
        search_together(fewer)
        other = self._written(whole.form, fewer, found, freed)
        # Of copies beyond those that were asked about it says nothing.
        return other if whole is found else replace(other, bound=found.bound)

    def whole(self, found: Found, moves: int | None, deadline: Deadline) -> Found:
        """Return a plan without those pods that make no whole copy, where copies are counted.

        If the time is up before, it is the plan that was found: it has as many copies.
        """
        form = found.form
        if not form.pods or not form.number:
            return found
        pods = found.jobs * form.pods
        if found.placement.placed(-1) == pods:
            return found
        form = self.copies.counted(found.jobs)
        instance = self.copies.asked(form, moves)
        rest = found.placement.podsets[:-1]
        if not pods:
            return replace(found, form=form, placement=Placement(rest))
        start = Placement((*rest, {}))
        placement = construct(
            instance, deadline.at_least(LEAST), How(Strategy.BEST_FIT, start=start)
        )
        if placement.placed(-1) < pods:
            return found
        return replace(found, form=form, placement=placement)

    def _written(self, form: Form, run: Run, known: Found, freed: Freed | None) -> Found:
        """Take the best placement that has an order of steps, replayed and judged."""
        instance = run.instance
        tiers = (*unplaced_tier(instance), MOVES)
        waves = executable(run)[1]
        violations, final = replay(instance, waves)
        if violations:  # an order is judged where it is made: this is for what is not
            self.warnings.append(f"a plan was refused: {violations[0]}")
            return known
        unplaced, moves = measure(instance, final, tiers)
        jobs = form.copies_at(instance, unplaced)
        bound = form.copies_at(instance, run.incumbent.floors[0])
        bound = max(jobs, min(known.bound, bound))
        fewest = moves == 0
        if len(run.tiers) == len(tiers):
            fewest = fewest or run.incumbent.optimal
        if freed is not None and freed.fewest_moves is not None:
            all_of_them = jobs * max(1, form.pods) == freed.slots
            fewest = fewest or (all_of_them and moves == freed.fewest_moves)
        return Found(jobs, bound, moves, fewest, form, final)


def _better(found: Found, fewer: Found) -> Found:
    """Return the plan that places more, of equals the one that moves less, with the first bound."""
    if (fewer.jobs, -fewer.moves) > (found.jobs, -found.moves):
        return replace(fewer, bound=max(found.bound, fewer.jobs))
    return found


def _merit(found: Found) -> tuple[int, int, bool]:
    """What to compare plans by: the copies, of as many the moves, and what is known of these."""
    return found.jobs, -found.moves, found.fewest_moves


def why_no_more(found: Found, copies: Copies) -> tuple[str, str]:
    """Say what is first in the way of one copy more: a rule and a sentence with witnesses."""
    instance, placement = copies.one_more(found.form, found.placement)
    return first_reason(instance, placement, len(instance.jobs) - 1)


_SINGLY = 200
"""Copies that are placed one after the other: for more of them a question takes long to build."""


def by_relocation(
    copies: Copies, form: Form, moves: int | None, soon: Deadline, over: Callable[[], bool]
) -> Placement | None:
    """Return a placement of copies, in the form asked for, whose moves have an order.

    Where those of all have none, of as many of the first ones as have one. ``soon`` is when to
    place no more of them, ``over`` whether there is no time for anything.
    """
    named = form if not form.pods else copies.named(min(form.number, _SINGLY))
    number = named.number
    while number and not over():
        # Copies that count as jobs may be asked for as many as they are: one was built before.
        asked = named if number == named.number else copies.named(number)
        instance = copies.asked(asked, moves)
        placement = construct(
            instance, soon, How(Strategy.BEST_FIT, relocate=True, singly=True, preempt=False)
        )
        if sequence(instance, placement, over) is not None:
            unplaced = measure(instance, placement, unplaced_tier(instance))[0]
            if not asked.copies_at(instance, unplaced):
                return None
            return _in_form(copies, form, placement, number)
        number //= 2
    return None


def _in_form(copies: Copies, form: Form, placement: Placement, number: int) -> Placement:
    """Say where copies that are named are in a question in which they are counted."""
    own = number * len(copies.one.pod_sets)
    rest, mine = placement.podsets[:-own], placement.podsets[-own:]
    if form.pods:
        together = Counter[Spot]()
        for spots in mine:
            together.update(spots)
        return Placement((*rest, dict(sorted(together.items()))))
    missing = (form.number - number) * len(copies.one.pod_sets)
    return Placement((*rest, *mine, *({} for _ in range(missing))))
