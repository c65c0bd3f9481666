"""Tier after tier: minimise, lock, go on (lexicographic optimisation); others keep the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from ortools.sat.python import cp_model

from kantopt.budget import Budget
from kantopt.cp.lexicographic import in_order, width_of, within_reach
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import SOLVED, accepted, bound_of, search_alone, solver_of, words_of
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import OF_WHO_IS_PLACED, Tier

_FEW = 100
"""Most nodes of which presolve breaks the symmetries first, where several threads have them, and of
which one thread presolves once."""
_FEW_VALUES = 1_000
"""Most values of a tier that is minimised together with the one before it."""
_GLANCE = 0.75
"""Share of a first look for a tier of who is placed, which others better, too; later tiers have
all that is left of it."""
_THREADS = ("max_lp", "default_lp", "core", "no_lp", "quick_restart", "reduced_costs")
"""Searches of CP-SAT in the order in which threads get one: its own begins with ``default_lp``,
whose linear program has too few of the rows to bound how much is disturbed."""


class Incumbent(Protocol):
    """The best placement so far and what is known of it, as others keep it."""

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """What is minimised, most important first."""

    @property
    def placement(self) -> Placement:
        """The best placement, legal but for required jobs that it leaves out."""

    @property
    def values(self) -> tuple[int, ...]:
        """Its tier values."""

    @property
    def missing(self) -> int:
        """Required jobs that it leaves out."""

    @property
    def fault(self) -> object | None:
        """What was wrong with the placement that was offered last."""

    def floor(self, tier: int, /) -> int:
        """Return a bound on a tier for placements that are no worse above it."""

    def offer(self, placement: Placement, /, *, legal: bool) -> bool:
        """Take a placement if it is better."""


class _EachSolution(cp_model.CpSolverSolutionCallback):
    """Hands every solution on as a placement, and ends the search at one known to be optimal.

    So does one that breaks lazy constraints: these are needed.
    """

    def __init__(self, model: PlacementModel, incumbent: Incumbent, floor: int) -> None:
        super().__init__()
        self._model = model
        self._incumbent = incumbent
        self._floor = floor
        self.broken = False
        """Whether a solution breaks lazy constraints."""

    def on_solution_callback(self) -> None:
        """Take one solution from the solver."""
        self.broken = _offer(self._incumbent, self._model, self.value) or self.broken
        if self.broken or round(self.objective_value) <= self._floor:
            self.stop_search()


def _offer(
    incumbent: Incumbent, model: PlacementModel, value: Callable[[cp_model.IntVar], int]
) -> bool:
    """Offer a solution as a placement; say whether lazy constraints forbid it."""
    incumbent.offer(model.extract(value), legal=not model.lazy)
    return model.lazy and incumbent.fault is not None


def solve_tiers(
    model: PlacementModel,
    budget: Budget,
    incumbent: Incumbent,
    *,
    closed: Callable[[int, int, tuple[int, ...]], None],
    refresh: Callable[[], object] = lambda: None,
    asked: Callable[[Iterable[str]], None] = lambda _: None,
    proving: float = 0.4,
    glance: bool = False,
) -> bool:
    """Minimise the tiers in order, each locked at its value before the next.

    Parameters
    ----------
    model
        The placements to choose from; each is legal by the model.
    budget
        Deadline, seed, workers, work.
    incumbent
        Where to start, unless it leaves required jobs out; is offered every placement that the
        solver finds.
    closed
        Called with a tier, its bound and the locks above it whenever a bound is known.
    refresh
        Called between tiers: the incumbent may take what was found elsewhere.
    asked
        Told the parameters of each solve.
    proving
        Share of a tier's time in which the search is for a proof rather than for better plans.
    glance
        Whether to end with the first tier that stays open; it has more of the time then.

    Returns
    -------
    bool
        Whether there provably is no placement in the model at all.
    """
    run = _Run(model, budget, incumbent, closed, asked, proving, glance=glance)
    for i in range(len(incumbent.tiers)):
        refresh()
        # What came from elsewhere may have bettered a tier above, and lost below it: what is known
        # of the tiers below holds for these values, and no longer for the old ones.
        locks = run.lock(i)
        floor = 0 if incumbent.missing else incumbent.floor(i)
        if incumbent.missing or incumbent.values[i] > floor:
            if run.spent():
                break
            floor = run.minimise(i, floor)
            if run.infeasible:
                return True
            if incumbent.missing:
                break
        closed(i, floor, locks)
        if glance and incumbent.values[i] > floor:
            break
    return False


class _Run:
    """What is left to spend."""

    def __init__(
        self,
        model: PlacementModel,
        budget: Budget,
        incumbent: Incumbent,
        closed: Callable[[int, int, tuple[int, ...]], None],
        asked: Callable[[Iterable[str]], None],
        proving: float,
        *,
        glance: bool,
    ) -> None:
        self.model = model
        self._asked, self._proving, self._glance = asked, proving, glance
        self.tiers = incumbent.tiers
        self.budget = budget
        self.incumbent = incumbent
        self._closed = closed
        self.work = budget.work
        self.infeasible = False
        self._locks: list[tuple[cp_model.Constraint, int]] = []

    def lock(self, tiers: int) -> tuple[int, ...]:
        """Allow the first tiers no more than the incumbent's values; return these."""
        locks = self.incumbent.values[:tiers]
        for k, value in enumerate(locks):
            if k == len(self._locks):
                at_most = self.model.cp.add(self.model.expression(self.tiers[k]) <= value)
                self._locks.append((at_most, value))
                continue
            at_most, before = self._locks[k]
            if value != before:
                at_most.proto.linear.domain[1] += value - before
                self._locks[k] = at_most, value
        return locks

    def spent(self) -> bool:
        """Whether nothing is left of time or work."""
        return self.budget.deadline.over() or (self.work is not None and self.work <= 0)

    def minimise(self, i: int, floor: int) -> int:
        """Minimise one tier; return the best bound on it, at least ``floor``.

        The last tier may take all that is left, the others leave half to those below. In the first
        part of its share presolve may break symmetries, which proves best but mostly loses the
        incumbent; then they are kept, and the search goes on from there. Of many nodes they are
        kept first: to break them takes presolve as the square of the nodes that are alike. One
        thread does not look for them (:meth:`_solver`): it has all of the share at once.
        """
        tier, cp, best = self.tiers[i], self.model.cp, self.incumbent
        weight, below = self._aim(i)
        share = 1.0 if i + (1 if weight == 1 else 2) == len(self.tiers) else 0.5
        if self._glance:
            share = _GLANCE if tier.metric in OF_WHO_IS_PLACED else 1.0
        several, many = self.budget.threads > 1, len(self.model.instance.nodes) > _FEW
        breaking = share * (1.0 if not several else 0.5 if many else self._proving)
        parts = ((False, breaking), (True, share - breaking))
        for k, (keep, part) in enumerate(reversed(parts) if several and many else parts):
            if part <= 0 or (k and self.spent()):
                break
            if not best.missing:
                self.model.hint(best.placement, presolve=not self.budget.plain)
            solver = self._solver(part)
            solver.parameters.keep_symmetry_in_presolve = keep
            self._asked(words_of(solver))
            told = _EachSolution(self.model, best, weight * floor + below)
            status = accepted(solver.solve(cp, told), cp, f"tier {tier.name}")
            if self.work is not None:
                self.work -= solver.response_proto.deterministic_time
            if status == cp_model.INFEASIBLE:
                if not best.missing:
                    raise ValueError(f"tier {tier.name}: the model refuses a legal placement")
                self.infeasible = True
                break
            if status in SOLVED:
                # What a search ends with can be worse than what it was given.
                told.broken = _offer(best, self.model, solver.value) or told.broken
            bound = bound_of(solver)
            floor = max(floor, bound // weight)
            if not best.missing and best.values[i] <= floor:
                if bound > weight * floor:
                    self._closed(i + 1, bound - weight * floor, best.values[: i + 1])
                break
            if told.broken:
                self.model.complete()
                return floor if self.spent() else self.minimise(i, floor)
        return floor

    def _aim(self, i: int) -> tuple[int, int]:
        """Minimise a tier, and with it the next if that is open, too, and has few values.

        Presolve, and the linear program at the root, are most of what such a tier takes: so it is
        done once for two. What is proved of a weighted sum is proved of its parts, as long as the
        first weighs more than all of the second (Sherali and Soyster 1983, J. Optim. Theory Appl.
        39).

        Returns
        -------
        tuple
            What the tier weighs, and a bound on the next; 1 and 0 if that is left for later.
        """
        tiers, cp, best = self.tiers, self.model.cp, self.incumbent
        first = self.model.expression(tiers[i])
        if i + 1 < len(tiers) and not best.missing and best.values[i + 1] > best.floor(i + 1):
            second = self.model.expression(tiers[i + 1])
            weight = width_of(cp, second)
            both = (first, width_of(cp, first)), (second, weight)
            if weight <= _FEW_VALUES and within_reach([width for _, width in both]) == len(both):
                cp.minimize(in_order(both))
                return weight, best.floor(i + 1)
        cp.minimize(first)
        return 1, 0

    def _solver(self, share: float) -> cp_model.CpSolver:
        seconds = None if self.work is not None else self.budget.deadline.remaining() * share
        work = None if self.work is None else max(0.0, self.work * share)
        budget = self.budget
        solver = solver_of(seconds, work, workers=budget.threads, seed=budget.seed)
        parameters = solver.parameters
        # No clock where work is counted: after a pause CP-SAT stops as long before its time as the
        # pause was, and nobody would know. Whoever waits for the search ends it in time.
        if budget.threads == 1:
            search_alone(solver, small=len(self.model.instance.nodes) <= _FEW)
        else:
            parameters.subsolvers.extend(_THREADS)
        if self.budget.plain:
            parameters.cp_model_presolve = False
            parameters.symmetry_level = 0
        if self.budget.log is not None:
            parameters.log_search_progress = True
            parameters.log_to_stdout = False
            solver.log_callback = partial(_append, self.budget.log)
        return solver


def _append(path: str, line: str) -> None:
    with open(path, "a", encoding="utf-8") as log:
        log.write(f"{line}\n")
