"""One run of the planner: its incumbent, what is known about it, what the plan says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import process_time

from kantopt import shares
from kantopt.clock import Deadline, Reserve, elapsed
from kantopt.planning.solving.ending import ending_seconds
from kantopt.planning.solving.news import News, Tell
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.problem.wanted import holding_to
from kantopt.processor import CpuUse, starved_words
from kantopt.search.construct import How
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.technique import Tally
from kantopt.search.offer import offer_constructed
from kantopt.search.portfolio import Made, by_strategies
from kantopt.search.strategy import DEFAULT_PORTFOLIO
from kantopt.verify.metrics import measure
from kantopt.verify.metrics.unplaced import required_never_placed
from kantopt.verify.rules import check, check_standing
from kantopt.verify.victims.ending import Bears

# What is needed only once there is a first plan is loaded then: in a short run the solver has its
# task the earlier.

SMALL = 0.02
"""Seconds of a processor that judging a plan of a small question takes, however busy that is."""
KEPT = "last-plan"
"""Who found what is taken over from the plan of the run before."""
REMEMBERED = 6
"""How many plans before the best are remembered, beside the first: one may have an order."""


class Run:
    """One run: the incumbent and what is known about it.

    ``start`` is a legal placement to better, by default the snapshot's own, and who made it;
    ``part`` what it has of the time that is left.
    """

    def __init__(
        self,
        instance: Instance,
        tiers: tuple[Tier, ...],
        options: Options,
        deadline: Deadline,
        tell: Tell = lambda _: None,
        solver: SolverProcess | None = None,
        start: tuple[Placement, str] | None = None,
        part: float = 1.0,
    ) -> None:
        self.asked = instance
        self.infeasible = required_never_placed(instance)
        """A required job provably has no place; the rest is planned as if it were not required."""
        self.instance = replace(instance, required=frozenset()) if self.infeasible else instance
        self.tiers = tiers
        self.options = options
        self.deadline = deadline.share(part)
        self.tell = tell
        self.solver = solver
        self.last: Placement | None = None
        """Where what is left of an earlier plan leads."""
        self.bears = Bears()
        """How many pods of jobs may end before nobody makes them anew."""
        self.unsure = frozenset[str]()
        """Jobs for which more may be evicted than any plan evicts: none of them is ruled out."""
        self.warnings: list[str] = []
        self.strategy = ""
        self.one_order = False
        """There was no time for more than one strategy before an exact search."""
        self.rough: tuple[Incumbent, Made, Iterator[Made]] | None = None
        """What the first strategy has made, and what more will, until somebody refines it."""
        self.closest: Placement | None = None
        """The plan whose gangs nobody could bring closer."""
        self.helper: SolverProcess | None = None
        """The exact search at work beside this one: it is told of each better plan."""
        self.ortools_version = ""
        self.parameters: dict[str, None] = {}
        """With which CP-SAT had the question, or parts of it."""
        self.cut = False
        """The clock or a signal has ended something before its time."""
        self.solver_cpu = CpuUse()
        """What processes of exact searches have used."""
        began, worked = elapsed(), process_time()
        placement, by = start or (instance.current, "nobody")
        self.incumbent = self.begin(placement, by, Tally(options.without))
        self.standing = tuple(check_standing(instance))
        self.judging = elapsed() - began
        """Seconds that judging a plan takes."""
        self.small = process_time() - worked <= SMALL
        if not self.small:  # the first time much is worked out that is known from then on
            self.judging = min(self.judging, self._judging(placement))
        self.counting = 0.0
        """Seconds that counting takes before it is said why jobs stay pending, once it is known."""
        self.most_kept = shares.ENDING * self.deadline.remaining()
        """Seconds that ordering, verifying and writing have at most."""
        self.kept_besides = 0.0
        """Seconds to keep besides: for what victims would do next and for what fills their room."""
        self.reserve = Reserve()
        """Seconds to keep of both, by the best plan so far."""
        self.keep_for_ending(None)
        self.search_end: Deadline | None = None
        """When the search was to stop: from then on it is the time limit that has ended it."""

    def begin(self, start: Placement, by: str, tally: Tally) -> Incumbent:
        """Begin with a placement; whatever becomes the best is told."""
        return Incumbent(
            self.instance,
            self.tiers,
            start,
            by,
            found=self._found,
            kept=REMEMBERED,
            tally=tally,
        )

    def _judging(self, placement: Placement) -> float:
        began = elapsed()
        _ = measure(self.instance, placement, self.tiers), check(self.instance, placement)
        return elapsed() - began

    def keep_for_ending(self, found: Placement | None) -> None:
        """Keep what ordering, verifying and writing a plan take, and what is kept besides."""
        ending = ending_seconds(self.instance, found, self.judging) + self.counting
        self.reserve.seconds = min(ending, self.most_kept) + self.kept_besides

    @property
    def looking_back(self) -> Deadline:
        """Until when to find out what of an earlier plan can still be done."""
        return self.deadline.share(shares.LAST_PLAN)

    @property
    def searching(self) -> Deadline:
        """Until when to search."""
        return self.deadline.leaving(self.reserve)

    @property
    def ordering(self) -> Deadline:
        """Until when to look for orders; then to verify and write."""
        return self.deadline.less(self.reserve.seconds / 2)

    @property
    def filling(self) -> Deadline:
        """Until when to fill what is left over: judging takes longer than the search."""
        return self.ordering.less(shares.LEFTOVER_JUDGINGS * self.judging)

    @property
    def telling(self) -> Deadline:
        """Until when to find out whom victims push out in turn."""
        return self.deadline.less(self.reserve.seconds * shares.TELLING)

    @property
    def saying_why(self) -> Deadline:
        """Until when to say why jobs stay pending, from now on."""
        return self.ordering.at_least(shares.SAYING_WHY)

    def look_at_least_once(self) -> None:
        """Put the deadline off where reading took nearly all the time and the question is small."""
        if not self.small:
            return
        if self.deadline.over() and not self.deadline.stop.wished():
            self.warnings.append(f"reading took all the time: the search had {shares.LEAST} s more")
        self.deadline = self.deadline.at_least(shares.LEAST)
        self.most_kept = shares.ENDING * self.deadline.remaining()
        self.keep_for_ending(None)

    def keep(self, last: Placement) -> None:
        """Begin with what is left of an earlier plan, and place around it what it leaves out.

        Where that is as good as anything else, what was announced before still stands; and if the
        model asks for it, what is better differs from it no more than it must.
        """
        self.last = last
        self.asked = holding_to(self.asked, last)
        self.instance = replace(self.asked, required=frozenset()) if self.infeasible else self.asked
        self.tiers = tiers_of(self.instance)
        incumbent = self.begin(self.instance.current, "nobody", self.incumbent.tally)
        self.incumbent = incumbent
        if incumbent.offer(last, KEPT):
            deadline = self.searching
            strategy = (self.options.strategies or DEFAULT_PORTFOLIO)[0]
            offer_constructed(incumbent, deadline, How(strategy, start=last))
            self.strategy = strategy.value

    def construct(self) -> None:
        """Find a first plan fast."""
        deadline, strategies = self.searching, self.options.strategies
        short = not deadline.deterministic and deadline.remaining() < shares.ONE_STRATEGY
        if not strategies and (short or self._left_to_repair()):
            strategies = DEFAULT_PORTFOLIO[:1]
        began = elapsed()
        best = self.incumbent
        # Beside an earlier plan: its moves may be used up, so that others begin afresh.
        fresh = best
        if self.last is not None:
            fresh = Incumbent(self.instance, self.tiers, self.instance.current, tally=best.tally)
        fast, seed = self.options.engine == "fast", self.options.seed
        share = shares.STRATEGIES if fast else shares.STRATEGIES_BEFORE
        turns = by_strategies(fresh, deadline, strategies, seed=seed, share=share)
        made = next(turns)
        self.rough, self.one_order, self.cut = (fresh, made, turns), made.late, deadline.cuts()
        constructed = fresh.placement
        if fresh is best or best.offer(constructed, fresh.best.by) or not self.strategy:
            self.strategy = made.strategy.value
        if len(best.history) == 1:
            self._tell()
        from kantopt.search.cascade import evicts

        if not (self.small or deadline.cuts()):
            self.judging = self._judging(self.incumbent.placement)
        if evicts(self.instance, constructed):
            # What the victims would do next takes about as long again, and what fills their room.
            most = shares.CASCADE * self.deadline.remaining()
            self.kept_besides = min(2 * (elapsed() - began), most)
        self.keep_for_ending(self.incumbent.placement)

    def _left_to_repair(self) -> bool:
        """Whether the search by repair follows and does all that more strategies might do."""
        instance = self.incumbent.searched
        if self.options.engine == "exact" or not any(p.devices for p in instance.podsets):
            return False
        from kantopt.search.repair.improve import suffices

        return suffices(instance, self.tiers)

    def take(self, process: SolverProcess, *, proved: bool) -> None:
        """Take from an exact search what it says beside plans and bounds."""
        self.cut = self.cut or not (process.ended or proved)
        self.warnings += process.warnings
        self.solver_cpu += process.cpu
        self.parameters |= process.parameters
        self.ortools_version = process.ortools_version or self.ortools_version

    def give_up_required(self) -> None:
        """Go on from the best plan as if nothing were required: a required job has no place."""
        self.infeasible = True
        self.instance = replace(self.instance, required=frozenset())
        before = self.incumbent
        self.incumbent = self.begin(before.placement, before.best.by, before.tally)

    def _found(self, placement: Placement) -> None:
        self.keep_for_ending(placement)
        self._tell()
        if self.helper is not None and not self.incumbent.missing:
            self.helper.offer(placement)

    def _tell(self) -> None:
        best, floors = self.incumbent.best, self.incumbent.floors
        self.tell(News(elapsed(), best.by, best.values, floors, tuple(self.tiers)))

    @property
    def ruled_out(self) -> bool:
        """Whether a required job provably has no place, whomever its queue lets go."""
        required = (self.asked.jobs[j].name for j in self.asked.required)
        return self.infeasible and self.unsure.isdisjoint(required)

    def starved(self, *, proved: bool) -> tuple[str, ...]:
        """Say so if the clock ended a run that had the time but not the processor.

        Not where work is counted: there the clock should have no say in a single byte.
        """
        if not self.cut or proved or self.deadline.deterministic:
            return ()
        return starved_words(self.solver_cpu)
