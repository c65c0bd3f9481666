"""Tier after tier: minimise, lock, go on, and keep the best placement all the while."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    """

    deadline: Deadline
    seed: int = 0
    workers: int = 2
    work: float | None = None


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
    """Hands every solution on as a placement, and ends the search at one known to be optimal."""

    def __init__(
        self, model: PlacementModel, found: Callable[[Placement], None], floor: int
    ) -> None:
        super().__init__()
        self._model = model
        self._found = found
        self._floor = floor

    def on_solution_callback(self) -> None:
        """Take one solution from the solver."""
        self._found(self._model.extract(self.value))
        if round(self.objective_value) <= self._floor:
            self.stop_search()


def _arithmetic(instance: Instance, tiers: Sequence[Tier], i: int, values: Sequence[int]) -> int:
    return bounds(instance, tiers[: i + 1], values)[i]


def solve_tiers(
    model: PlacementModel,
    tiers: Sequence[Tier],
    budget: Budget,
    start: Placement | None,
    *,
    found: Callable[[Placement], None],
    closed: Callable[[int, int, tuple[int, ...]], None],
    known: Callable[[int, Sequence[int]], int] | None = None,
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
    """
    instance = model.instance
    best, work = start, budget.work
    proved: list[TierBound] = []
    locks: tuple[int, ...] = ()
    for i, tier in enumerate(tiers):
        values = None if best is None else measure(instance, best, tiers)
        floor = 0
        if values is not None:
            floor = known(i, values) if known else _arithmetic(instance, tiers, i, values)
        if values is not None and values[i] <= floor:
            bound = TierBound(floor, values[i])
        else:
            if budget.deadline.over() or (work is not None and work <= 0):
                break
            # The last tier may take all that is left, the others leave half to those below.
            share = 1.0 if i + 1 == len(tiers) else 0.5
            solver = _solver(budget, share, None if work is None else work * share)
            model.cp.minimize(model.expression(tier))
            if best is not None:
                model.hint(best)
            callback = _Incumbents(model, found, floor)
            status = solver.solve(model.cp, callback)
            if work is not None:
                work -= solver.response_proto.deterministic_time
            if status == cp_model.INFEASIBLE:
                if best is not None:
                    raise ValueError(f"tier {tier.name}: the model refuses a legal placement")
                return Outcome(None, tuple(proved), infeasible=True)
            if status == cp_model.MODEL_INVALID:
                raise ValueError(f"tier {tier.name}: {model.cp.validate()[:200]}")
            if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                # The hint may be lost: what a search ends with can be worse than it began with.
                last = model.extract(solver.value)
                if values is None or measure(instance, last, tiers) < values:
                    best, values = last, measure(instance, last, tiers)
            if best is None or values is None:
                break
            lower = max(floor, round_up(solver.best_objective_bound))
            bound = TierBound(lower, values[i])
        proved.append(bound)
        closed(i, bound.bound, locks)
        locks = (*locks, bound.value)
        model.cp.add(model.expression(tier) <= values[i])
    return Outcome(best, tuple(proved))


def _solver(budget: Budget, share: float, work: float | None) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.random_seed = budget.seed
    parameters.num_workers = budget.workers
    # With symmetries broken in presolve the hint, however good, is no solution any more.
    parameters.keep_symmetry_in_presolve = True
    parameters.max_time_in_seconds = max(0.01, budget.deadline.remaining() * share)
    if work is not None:
        parameters.interleave_search = True
        parameters.max_deterministic_time = work
        parameters.max_time_in_seconds = max(0.01, budget.deadline.remaining())
    return solver


def round_up(bound: float) -> int:
    """Return the least integer that a bound on an integer objective allows."""
    nearest = round(bound)
    return nearest if abs(bound - nearest) < 1e-3 else math.ceil(bound)
