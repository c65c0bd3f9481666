"""Is there any placement of a job under some of the rules? A solve without an objective."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ortools.sat.python import cp_model

from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.cp.variables import weighted
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
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
    pending = [s for s in instance.jobs[j].podsets if not instance.podsets[s].running]
    model.cp.add(weighted([(m.arrived(s), 1) for s in pending]) >= 1)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = max(0.01, deadline.remaining())
    status = solver.solve(model.cp)
    if status == cp_model.MODEL_INVALID:
        raise ValueError(f"job {instance.jobs[j].name}: {model.cp.validate()[:200]}")
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Reached(model.extract(solver.value), impossible=False)
    return Reached(None, impossible=status == cp_model.INFEASIBLE)
