"""What a plan claims and no arithmetic can settle: it was found by search, and stays a claim."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.problem.instance import Instance
from kantopt.schema.plan import Plan
from kantopt.verify.metrics.unplaced import never_placed


def unchecked_claims(instance: Instance, plan: Plan) -> Iterator[str]:
    """Name each claim of a plan that rests on a search, as ``subject: amount``.

    Parameters
    ----------
    instance
        The question under the plan's own model.
    """
    for row in plan.objectives:
        if row.proved_by not in ("arithmetic", "none"):
            yield f"objective {row.name}: bound {row.bound}, by {row.proved_by}"
    if plan.solver.status == "INFEASIBLE" and not hopeless(instance):
        yield "solver.status: INFEASIBLE, a required job has no place"
    if plan.cascade is not None:
        end = "where it ends" if plan.cascade.complete else "as far as the time went"
        yield f"cascade: whom the victims would push out, {end}, by the fast path"


def hopeless(instance: Instance) -> bool:
    """Whether arithmetic shows that some required job has no place."""
    return any(never_placed(instance, instance.jobs[j]) for j in instance.required)
