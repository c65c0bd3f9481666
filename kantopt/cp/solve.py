"""Tier after tier: minimise, lock, go on, and keep the best placement all the while."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ortools.sat.python import cp_model

from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics import bounds, measure


@dataclass(frozen=True, slots=True)
class Budget:
    """What the search may spend.

    ``work`` is a limit in CP-SAT's deterministic seconds, for runs that must be repeatable.
    ``proving`` is the share of a tier's time in which the search is for a proof rather than for
    better plans.
    """

    deadline: Deadline
    seed: int = 0
    workers: int = 2
    work: float | None = None
    proving: float = 0.4
    log: str | None = None
    """File that CP-SAT's log is appended to."""
    plain: bool = False
    """Without presolve: CP-SAT has aborted in it before."""

    @property
    def threads(self) -> int:
        """Threads of CP-SAT: one where a run must be repeatable.

        Interleaved search promises to be repeatable on several; but of two solutions as good as
        each other it keeps the one that comes first, and which that is the threads race for.
        """
        return self.workers if self.work is None else 1

    def parameters(self) -> tuple[str, ...]:
        """Parameters of CP-SAT that differ from its own defaults, but for limits of time."""
        found = [f"random_seed={self.seed}", f"num_workers={self.threads}"]
        found.append("keep_symmetry_in_presolve=false, then true")
        return tuple(found if self.work is None else [*found, "interleave_search=true"])


@dataclass(frozen=True, slots=True)
class TierBound:
    """What was proved of a tier: no plan that is no worse above it has less than ``bound``.

    ``value`` is where the tier is locked for those below it.
    """

    bound: int
    value: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the search ends with: the best placement, a bound per tier, and what it could prove.

    ``bounds`` may be shorter than the tiers if the time was up. ``infeasible`` says that a
    required job provably has no place; then ``placement`` is the start.
    """

    placement: Placement | None
    bounds: tuple[TierBound, ...]
    infeasible: bool = False


class _Incumbents(cp_model.CpSolverSolutionCallback):
    """Hands every solution on as a placement, and ends the search at one known to be optimal.

    With ``floor`` as ``None`` it is left to the solver to end.
    """

    def __init__(
        self, model: PlacementModel, found: Callable[[Placement], None], floor: int | None
    ) -> None:
        super().__init__()
        self._model = model
        self._found = found
        self._floor = floor

    def on_solution_callback(self) -> None:
        """Take one solution from the solver."""
        self._found(self._model.extract(self.value))
        if self._floor is not None and round(self.objective_value) <= self._floor:
            self.stop_search()


def solve_tiers(
    model: PlacementModel,
    tiers: Sequence[Tier],
    budget: Budget,
    start: Placement | None,
    *,
    found: Callable[[Placement], None],
    closed: Callable[[int, int, tuple[int, ...]], None],
    known: Callable[[int, Sequence[int]], int] | None = None,
    news: Callable[[], Placement | None] = lambda: None,
) -> Outcome:
    """Minimise the tiers in order, each locked at its value before the next.

    Parameters
    ----------
    model
        The placements to choose from.
    tiers
        What to minimise, most important first.
    budget
        Deadline, seed, workers, work.
    start
        A legal placement to start from, or ``None`` if none is known (a required job).
    found
        Called with every placement that the solver finds; each is legal by the model.
    closed
        Called with a tier, its bound and the locks above it whenever a bound is known.
    known
        Returns a bound on a tier for plans no worse than the values given above it; without it
        arithmetic is asked.
    news
        Returns a legal placement that was found elsewhere, if there is one: asked between tiers.
    """
    run = _Run(model, tuple(tiers), budget, start, found, news)
    if known is None:
        known = partial(_arithmetic, model.instance, run.tiers)
    proved: list[TierBound] = []
    locks: tuple[int, ...] = ()
    for i, tier in enumerate(tiers):
        run.refresh()
        floor = known(i, run.values) if run.values else 0
        if not run.values or run.values[i] > floor:
            if run.spent():
                break
            floor = run.minimise(i, floor)
            if run.infeasible:
                return Outcome(None, tuple(proved), infeasible=True)
            if not run.values:
                break
        proved.append(TierBound(floor, run.values[i]))
        closed(i, floor, locks)
        locks = (*locks, run.values[i])
        model.cp.add(model.expression(tier) <= run.values[i])
    return Outcome(run.best, tuple(proved))


def _arithmetic(instance: Instance, tiers: Sequence[Tier], i: int, values: Sequence[int]) -> int:
    return bounds(instance, tiers[: i + 1], values)[i]


class _Run:
    """The incumbent and what is left to spend."""

    def __init__(
        self,
        model: PlacementModel,
        tiers: tuple[Tier, ...],
        budget: Budget,
        start: Placement | None,
        found: Callable[[Placement], None],
        news: Callable[[], Placement | None],
    ) -> None:
        self.model = model
        self.tiers = tiers
        self.budget = budget
        self.found = found
        self.news = news
        self.work = budget.work
        self.best: Placement | None = None
        self.values: tuple[int, ...] = ()
        self.infeasible = False
        if start is not None:
            self._take(start)

    def refresh(self) -> None:
        """Take what was found elsewhere."""
        latest = self.news()
        if latest is not None:
            self._take(latest)

    def _take(self, placement: Placement) -> None:
        values = measure(self.model.instance, placement, self.tiers)
        if not self.values or values < self.values:
            self.best, self.values = placement, values

    def spent(self) -> bool:
        """Whether nothing is left of time or work."""
        return self.budget.deadline.over() or (self.work is not None and self.work <= 0)

    def minimise(self, i: int, floor: int) -> int:
        """Minimise one tier; return the best bound on it, at least ``floor``.

        The last tier may take all that is left, the others leave half to those below. In the first
        part of its share presolve may break symmetries, which proves best but mostly loses the
        incumbent; then they are kept, and the search goes on from there.
        """
        share = 1.0 if i + 1 == len(self.tiers) else 0.5
        proving = share * self.budget.proving
        for keep, part in ((False, proving), (True, share - proving)):
            if part <= 0 or (keep and self.spent()):
                break
            floor = max(floor, self._solve(i, floor, part, keep=keep))
            if self.infeasible or (self.values and self.values[i] <= floor):
                break
        return floor

    def _solve(self, i: int, floor: int, share: float, *, keep: bool) -> int:
        tier, cp = self.tiers[i], self.model.cp
        cp.minimize(self.model.expression(tier))
        stop: int | None = floor
        if self.work is not None:
            # Workers that take turns can crash when a callback ends the search (OR-Tools 9.15);
            # told that there is nothing better, they end by themselves.
            cp.add(self.model.expression(tier) >= floor)
            stop = None
        if self.best is not None:
            self.model.hint(self.best)
        solver = self._solver(share)
        solver.parameters.keep_symmetry_in_presolve = keep
        status = solver.solve(cp, _Incumbents(self.model, self.found, stop))
        if self.work is not None:
            self.work -= solver.response_proto.deterministic_time
        if status == cp_model.MODEL_INVALID:
            raise ValueError(f"tier {tier.name}: {cp.validate()[:200]}")
        if status == cp_model.INFEASIBLE:
            if self.best is not None:
                raise ValueError(f"tier {tier.name}: the model refuses a legal placement")
            self.infeasible = True
            return floor
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            # What a search ends with can be worse than what it was given.
            self._take(self.model.extract(solver.value))
        return round_up(solver.best_objective_bound)

    def _solver(self, share: float) -> cp_model.CpSolver:
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.random_seed = self.budget.seed
        parameters.num_workers = self.budget.threads
        if self.budget.plain:
            parameters.cp_model_presolve = False
            parameters.symmetry_level = 0
        if self.budget.log is not None:
            parameters.log_search_progress = True
            parameters.log_to_stdout = False
            solver.log_callback = partial(_append, self.budget.log)
        if self.work is None:
            left = self.budget.deadline.remaining()
            parameters.max_time_in_seconds = max(0.01, left * share)
        else:
            # No clock: after a pause CP-SAT stops as long before its time as the pause was, and
            # nobody would know. Whoever waits for the search ends it when the time is up.
            parameters.interleave_search = True
            parameters.max_deterministic_time = max(0.0, self.work * share)
        return solver


def _append(path: str, line: str) -> None:
    with open(path, "a", encoding="utf-8") as log:
        log.write(f"{line}\n")


def round_up(bound: float) -> int:
    """Return the least integer that a bound on an integer objective allows."""
    nearest = round(bound)
    return nearest if abs(bound - nearest) < 1e-3 else math.ceil(bound)
