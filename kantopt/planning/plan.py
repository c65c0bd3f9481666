"""The main use case: a fast plan, then bounds, then the exact search, all within one deadline."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kantopt.clock import Deadline, elapsed
from kantopt.planning.document import Answer, plan_document
from kantopt.planning.exact import Limits, Search, search
from kantopt.planning.question import Question
from kantopt.planning.solver_process import SolverProcess
from kantopt.planning.tiers import tier_rows
from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema import plan as docs
from kantopt.schema.model import Model, Rule
from kantopt.search.construct import best_of
from kantopt.search.reasons import first_reason
from kantopt.search.sequence import sequence
from kantopt.search.strategy import DEFAULT_PORTFOLIO, Strategy
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.metrics.unplaced import never_placed
from kantopt.verify.rules import check, check_standing

WORK_PER_SECOND = 0.1
"""Deterministic seconds per second of the time limit: few enough that the clock rarely decides."""

SHORT = 1.5
"""With fewer seconds left, moves of single pods are worth more than a second strategy."""

Engine = Literal["fast", "exact", "auto"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to plan."""

    engine: Engine = "auto"
    strategies: tuple[Strategy, ...] = ()
    """Strategies of the fast path; none: the default portfolio."""
    seed: int = 0
    workers: int = 2
    require: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """News while planning: seconds since the process began, what happened, tier values."""

    seconds: float
    message: str
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """A plan and how the run ended."""

    plan: docs.Plan
    instance: Instance
    tiers: tuple[Tier, ...]
    infeasible: bool
    """A required job provably has no place."""


Tell = Callable[[Progress], None]


def make_plan(
    question: Question,
    model: Model,
    options: Options,
    deadline: Deadline,
    tell: Tell = lambda _: None,
    solver: SolverProcess | None = None,
) -> Result:
    """Plan: construct, bound, search, order, verify, write down.

    Parameters
    ----------
    question
        The documents.
    model
        Rules and objectives, with ``extends`` resolved.
    options
        Engine, strategies, seed, workers, required jobs.
    deadline
        When everything, writing included, should be done. If it is over before a first plan, the
        plan is to do nothing, and says ``not examined``.
    tell
        Called with the progress.
    solver
        A process that has loaded the solver meanwhile; without one it is started when needed.

    Raises
    ------
    BadDataError
        If the documents contradict each other.
    """
    required = tuple(dict.fromkeys((*model.required, *options.require)))
    instance = question.instance(model.model_copy(update={"required": required}))
    run = _Run(instance, tiers_of(instance), options, deadline, tell, solver)
    run.warnings += question.notes
    if deadline.over():
        run.warnings.append("not examined: reading took all the time")
        run.cut = True
        answer = run.answer(instance.current, (), examined=False)
    else:
        run.construct()
        if options.engine != "exact":
            run.chains()
        if options.engine != "fast":
            run.improve()
        answer = run.answer(*run.ordered(), examined=True)
    plan = plan_document(question, instance, answer)
    return Result(plan, instance, run.tiers, run.infeasible)


class _Run:
    """One run: the incumbents so far and what is known about them."""

    def __init__(
        self,
        instance: Instance,
        tiers: tuple[Tier, ...],
        options: Options,
        deadline: Deadline,
        tell: Tell,
        solver: SolverProcess | None,
    ) -> None:
        self.asked = instance
        self.infeasible = any(never_placed(instance, instance.jobs[j]) for j in instance.required)
        """A required job provably has no place; the rest is planned as if it were not required."""
        self.instance = _not_required(instance) if self.infeasible else instance
        self.tiers = tiers
        self.options = options
        self.deadline = deadline
        self.tell = tell
        self.solver = solver
        self.warnings: list[str] = []
        self.search = Search()
        self.solved: list[Placement] = []
        """What the exact search has found."""
        self.strategy = ""
        self.fast = self.constructed = instance.current
        self.earlier: list[Placement] = []
        """What was the fast plan before, the constructed one first."""
        self.cut = False
        """The clock or a signal has ended something before its time."""
        self._measured: dict[int, tuple[Placement, tuple[int, ...]]] = {}
        began = elapsed()
        self.standing = tuple(check_standing(instance))
        self.values(instance.current)
        self.reserve = min(0.1 + 6 * (elapsed() - began), 0.5 * deadline.remaining())
        """Seconds to keep for ordering, verifying and writing, from how long judging takes."""

    def construct(self) -> None:
        """Find a plan fast."""
        deadline = self.deadline.less(self.reserve)
        strategies = self.options.strategies
        if not strategies and not deadline.deterministic and deadline.remaining() < SHORT:
            strategies = DEFAULT_PORTFOLIO[:1]
        self.fast, strategy = best_of(
            self.instance,
            deadline,
            strategies,
            self.tiers,
            seed=self.options.seed,
        )
        self.strategy = strategy.value
        self.constructed = self.fast
        self.cut = self.deadline.over()
        self.tell(Progress(elapsed(), self.strategy, self.values(self.fast)))

    def chains(self) -> None:
        """Improve the fast plan by moving single pods, for a part of the time that is left.

        The exact search keeps two thirds of it, or what is over a second where that is less: in
        so short a time it would find nothing.
        """
        values = self.values(self.fast)
        if values == bounds(self.instance, self.tiers, values):
            return
        from kantopt.search.chains.improve import improve

        left = self.deadline.less(self.reserve).remaining()
        share = left if self.options.engine == "fast" else max(left / 3, min(0.8 * left, 1.0))
        deadline = self.deadline
        if not deadline.deterministic:
            deadline = deadline.less(self.reserve + left - share)
        pods = sum(podset.count for podset in self.instance.podsets)
        try:
            improve(
                self.instance,
                self.fast,
                self.tiers,
                deadline,
                self.options.seed,
                self._improved,
                patience=min(100 + 10 * pods, 5000),
            )
        except Exception as error:  # a fault of the search must not cost the plan that is there
            self.warnings.append(f"the search by chains failed: {type(error).__name__}: {error}")
        clocked = not deadline.deterministic or deadline.stop.signal is not None
        self.cut = self.cut or (clocked and deadline.over())

    def _improved(self, placement: Placement) -> None:
        self.earlier = [*self.earlier[:1], *self.earlier[1:][-3:], self.fast]
        self.fast = placement
        self.tell(Progress(elapsed(), "chains", self.values(placement)))

    def values(self, placement: Placement) -> tuple[int, ...]:
        """Tier values of a placement, measured once."""
        if id(placement) not in self._measured:
            values = measure(self.instance, placement, self.tiers)
            self._measured[id(placement)] = (placement, values)
        return self._measured[id(placement)][1]

    def improve(self, forbidden: Sequence[Placement] = ()) -> None:
        """Search exactly, unless arithmetic already proves the fast plan optimal."""
        left_out = [placement.podsets for placement in forbidden]
        known = (self.fast, *reversed(self.earlier), self.instance.current)
        start = next(placement for placement in known if placement.podsets not in left_out)
        values = self.values(start)
        legal = not check(self.instance, start, (Rule.REQUIRED,))
        if legal and values == bounds(self.instance, self.tiers, values) and not forbidden:
            return
        deadline = self.deadline.less(self.reserve)
        limits = Limits(deadline, self.options.seed, self.options.workers, self._work())
        again = search(
            self.instance,
            self.tiers,
            start if legal else None,
            limits,
            lambda found: self.tell(Progress(elapsed(), "cp-sat", found)),
            forbidden,
            self.solver,
        )
        self.solver = None  # used up
        self.cut = self.cut or not again.ended
        self.warnings += again.warnings
        self.solved += again.placements
        if forbidden:  # a bound of a search that leaves some plans out is no bound
            self.search.placements = again.placements
        else:
            self.search = again
        if again.infeasible and not self.infeasible:
            self.infeasible = True
            self.instance = _not_required(self.instance)
            self.improve()

    def _work(self) -> float | None:
        if not self.deadline.deterministic or self.deadline.at is None:
            return None
        return self.deadline.at * WORK_PER_SECOND

    def ordered(self) -> tuple[Placement, tuple[Wave, ...]]:
        """Return the best placement that has a legal order of actions, and that order.

        Where the best one has none, it is forbidden and the search goes on while there is time;
        then the incumbents before it are tried, the fast plan, and at last doing nothing.
        """
        forbidden: list[Placement] = []
        candidates = [*self.earlier, self.fast, *self.search.placements]
        while candidates:
            placement = candidates.pop()
            waves = sequence(self.instance, placement)
            if waves is not None:
                if forbidden:
                    self.warnings.append("a better placement was left: its moves have no order")
                return placement, waves
            forbidden.append(placement)
            if self.options.engine != "fast" and not self.deadline.less(self.reserve).over():
                self.improve(forbidden)
                candidates = [*candidates, *self.search.placements]
        return self.instance.current, ()

    def answer(self, placement: Placement, waves: tuple[Wave, ...], *, examined: bool) -> Answer:
        """Gather what the plan document says."""
        rows = tier_rows(
            self.instance,
            self.tiers,
            self.values(self.instance.current),
            self.values(placement),
            self.search.bounds,
            examined,
        )
        missing = check(self.asked, placement, (Rule.REQUIRED,))
        infeasible = self.infeasible
        self.warnings += [
            f"{v.subject} is required and "
            + ("provably has no place" if infeasible else "was not placed")
            + f" ({v.message})"
            for v in missing
        ]
        proved = all(row.status == "OPTIMAL" for row in rows) and not missing
        status: docs.Status = "OPTIMAL" if proved else "FEASIBLE"
        if infeasible:
            status = "INFEASIBLE"
        elif not examined:
            status = "UNKNOWN"
        by_solver = any(placement is found for found in self.solved)
        self._say_what_ended(proved)
        return Answer(
            placement=placement,
            waves=waves,
            tiers=rows,
            solver=docs.Solver(
                engine=self.options.engine,
                strategy=self._strategy_of(placement),
                found_by="cp-sat" if by_solver else "fast" if examined else "none",
                status=status,
                seed=self.options.seed,
                deterministic=self.deadline.deterministic,
                reproducible=not self.cut
                and (self.deadline.deterministic or not self.search.ortools_version),
                ortools_version=self.search.ortools_version,
            ),
            unplaced=tuple(self._unplaced(placement, examined)),
            standing=self.standing,
            warnings=tuple(self.warnings),
        )

    def _strategy_of(self, placement: Placement) -> str:
        """Name what made the fast path's plan: a strategy, and chains if they bettered it."""
        chained = any(placement is found for found in (*self.earlier, self.fast))
        if chained and placement is not self.constructed:
            return f"{self.strategy} and chains"
        return self.strategy

    def _say_what_ended(self, proved: bool) -> None:
        number = self.deadline.stop.signal
        if number is not None:
            name = signal.Signals(number).name
            self.warnings.insert(0, f"interrupted by {name}: this is the best plan so far")
        elif self.cut and not proved:
            self.warnings.insert(0, "the time limit ended the search: this is the best plan so far")

    def _unplaced(self, placement: Placement, examined: bool) -> list[docs.Unplaced]:
        found = []
        for job in self.instance.jobs:
            pending = [self.instance.podsets[s] for s in job.podsets]
            pending = [podset for podset in pending if not podset.running]
            wanted = sum(podset.count for podset in pending)
            left = wanted - sum(placement.placed(podset.index) for podset in pending)
            if left:
                rule, message = ("not examined", "the run ended before it was looked at")
                if examined and self.deadline.over() and not self.deadline.deterministic:
                    self.cut = True
                elif examined:
                    rule, message = first_reason(self.instance, placement, job.index)
                found.append(
                    docs.Unplaced(
                        job=job.name,
                        priority=job.priority,
                        pods=left,
                        wanted=wanted,
                        rule=rule,
                        message=message,
                    )
                )
        return found


def _not_required(instance: Instance) -> Instance:
    """Return the question without required jobs."""
    return replace(instance, required=frozenset())
