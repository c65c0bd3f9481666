"""CP-SAT as all encodings call it: what a call may spend, its status, hints that are complete."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ortools.sat.python import cp_model

SOLVED = (cp_model.OPTIMAL, cp_model.FEASIBLE)
NEVER = 86_400.0
"""Seconds that nobody waits, for calls that are limited by work alone."""

ALONE = {
    "linearization_level": 2,
    "add_lp_constraints_lazily": False,
    "use_objective_lb_search": True,
    "cp_model_probing_level": 0,
    "symmetry_level": 0,
    "find_big_linear_overlap": False,
    "use_sat_inprocessing": False,
}
"""How one thread proves: with the whole linear program at once, from the bound up, and without
looking for what probing finds, for symmetries or for sums that rows share, nor for shorter clauses
on the way: all that takes longer than it saves. Of small models so does a second presolve."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a call may spend: seconds, and deterministic seconds if it must be repeatable."""

    seconds: float
    seed: int = 0
    work: float | None = None
    workers: int = 1


def solver_of(
    seconds: float | None = None,
    work: float | None = None,
    *,
    workers: int = 1,
    seed: int | None = None,
) -> cp_model.CpSolver:
    """Return a solver that may spend so many seconds, and so many deterministic ones."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    if seed is not None:
        solver.parameters.random_seed = seed
    if seconds is not None:
        solver.parameters.max_time_in_seconds = max(0.01, seconds)
    if work is not None:
        solver.parameters.max_deterministic_time = work
    return solver


def search_alone(solver: cp_model.CpSolver, *, small: bool) -> None:
    """Have one thread search for a proof."""
    for name, value in ALONE.items():
        setattr(solver.parameters, name, value)
    if small:
        solver.parameters.max_presolve_iterations = 1


def words_of(solver: cp_model.CpSolver) -> tuple[str, ...]:
    """Parameters that differ from the solver's own defaults, but for limits and for its log."""
    lines = str(solver.parameters).replace('"', "").splitlines()
    words = [line.replace(": ", "=") for line in lines]
    return tuple(word for word in words if not word.startswith(("max_time", "max_det", "log_")))


def accepted(status: object, cp: cp_model.CpModel, name: str) -> object:
    """Return the status of a solve.

    Raises
    ------
    ValueError
        If the solver has refused the model, of this name: a fault of ours.
    """
    if status == cp_model.MODEL_INVALID:
        raise ValueError(f"{name}: {cp.validate()[:200]}")
    return status


def bound_of(solver: cp_model.CpSolver) -> int:
    """Return the least integer that the bound on an integer objective allows."""
    bound = solver.best_objective_bound
    nearest = round(bound)
    return nearest if abs(bound - nearest) < 1e-3 else math.ceil(bound)


def complete_hint(cp: cp_model.CpModel, work: float, *, presolve: bool = True) -> None:
    """Hint the values of all variables that follow from those hinted, if that takes little work."""
    solver = solver_of(work=work)
    solver.parameters.fix_variables_to_their_hinted_value = True
    solver.parameters.cp_model_presolve = presolve
    if solver.solve(cp) in SOLVED:
        hint_solution(cp, solver)


def hint_solution(cp: cp_model.CpModel, solver: cp_model.CpSolver) -> None:
    """Start from a solution that was found before."""
    hint_values(cp, enumerate(solver.response_proto.solution))


def hint_values(cp: cp_model.CpModel, values: Iterable[tuple[int, int]]) -> None:
    """Start from values of variables, given by their index; of others nothing is hinted any more.

    All at once: one by one took as long as the solve that works out what they leave open.
    """
    pairs = tuple(values)
    hint = cp.proto.solution_hint
    hint.vars.clear()
    hint.values.clear()
    hint.vars.extend([index for index, _ in pairs])
    hint.values.extend([value for _, value in pairs])
