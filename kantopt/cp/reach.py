"""Is there any placement of a job under some of the rules? Solves without an objective."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from kantopt.clock import Deadline
from kantopt.cp.lexicographic import in_order, width_of, within_reach
from kantopt.cp.model import PlacementModel
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.solver import SOLVED, accepted, hint_values, solver_of
from kantopt.cp.variables import weighted
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule


@dataclass(frozen=True, slots=True)
class Reached:
    """A placement that has pods of the job beyond those that run, or a proof that none has."""

    placement: Placement | None
    impossible: bool


def reach(instance: Instance, j: int, rules: Iterable[Rule], deadline: Deadline) -> Reached:
    """Look for a placement with at least one pending pod of a job bound, under some rules.

    With the rule ``required`` among them jobs that the question requires are placed; with ``gang``
    a gang has its minimum or nothing. Rules that are left out do not hold.
    """
    if deadline.over():
        return Reached(None, impossible=False)
    model = PlacementModel(instance, rules=rules)
    m = model.variables
    model.cp.add(weighted([(m.arrived(s), 1) for s in instance.pending_of(j)]) >= 1)
    return _reached(model, solver_of(deadline.remaining()), f"job {instance.jobs[j].name}")[0]


def least_disturbance(
    instance: Instance, tiers: Sequence[Tier], deadline: Deadline
) -> tuple[Reached, bool]:
    """Place what must be placed with few evictions and few moves; say whether none are fewer.

    The tiers are minimised in one sum, as many as that can hold: nothing is said of those below.
    The search starts from leaving everything where it is.
    """
    if deadline.over():
        return Reached(None, impossible=False), False
    model = PlacementModel(instance)
    now = model.assignment(instance.current) or ()
    hint_values(model.cp, ((x.index, value) for x, value in now))
    expressions = [model.expression(tier) for tier in tiers]
    widths = [width_of(model.cp, expression) for expression in expressions]
    held = within_reach(widths)
    model.cp.minimize(in_order(list(zip(expressions, widths, strict=True))[:held]))
    solver = solver_of(deadline.remaining(), workers=2)
    found, best = _reached(model, solver, "least disturbance")
    return found, best and held == len(tiers)


def relaxed_impossible(instance: Instance, deadline: Deadline) -> bool:
    """Whether a relaxation proves that jobs which must be placed have no place together.

    Nodes are merged by class and pods by kind, so that this takes little time on large clusters.
    """
    if deadline.over():
        return False
    solver = solver_of(deadline.remaining(), _WORK)
    cp = Relaxation(instance, ()).cp
    return accepted(solver.solve(cp), cp, "relaxation") == cp_model.INFEASIBLE


_WORK = 1.0
"""Deterministic seconds for a relaxation."""


def _reached(model: PlacementModel, solver: cp_model.CpSolver, name: str) -> tuple[Reached, bool]:
    """Solve; return what was found, and whether it is the best."""
    status = accepted(solver.solve(model.cp), model.cp, name)
    if status in SOLVED:
        found = Reached(model.extract(solver.value), impossible=False)
        return found, status == cp_model.OPTIMAL
    return Reached(None, impossible=status == cp_model.INFEASIBLE), False
