"""One solve of a small model: several tiers at once, weighted so that their order counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ortools.sat.python import cp_model

from kantopt.cp.lexicographic import in_order, within_reach
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import SOLVED, Effort, accepted, hint_values, solver_of
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier

DETOUR = 40
"""By how much tiers of the objective may be worse for the sake of those above them."""


class Descent(NamedTuple):
    """What came of one solve."""

    found: Placement | None
    """A better placement, if there is one."""
    closed: bool
    """Whether the model has nothing better in the tiers that were weighed: the first open one, and
    those below it that one sum can hold."""
    work: float = 0.0
    """Deterministic seconds that it took."""


def descend(
    model: PlacementModel,
    tiers: Sequence[Tier],
    start: Placement,
    values: Sequence[int],
    floors: Sequence[int],
    effort: Effort,
    *,
    linearization: int = 1,
) -> Descent:
    """Look for a placement that is better than ``start`` in the order of the tiers.

    Tiers above the first one that is open are held; those below it that are open count as far as
    the weights reach. One worker, without probing and symmetries: for models of a few nodes.

    Parameters
    ----------
    model
        The placements to choose from, ``start`` among them; constraints are added to it.
    values
        Of the tiers, for ``start``.
    floors
        Of the tiers, bounds: a tier that has reached its own is not open.
    linearization
        How much of the model CP-SAT's linear program has: 2, all of it, proves more and finds less.
    """
    cp = model.cp
    open_tiers = [i for i in range(len(tiers)) if values[i] > floors[i]]
    if not open_tiers:
        return Descent(None, closed=True)
    for i in range(open_tiers[0]):
        cp.add(model.expression(tiers[i]) <= values[i])
    first, *later = (values[i] - floors[i] + 1 for i in open_tiers)
    widths = (first, *(width + DETOUR for width in later))
    chosen = list(zip(open_tiers, widths, strict=True))[: within_reach(widths)]
    for i, width in chosen:
        cp.add(model.expression(tiers[i]) <= floors[i] + width - 1)
    hint_values(cp, ((x.index, value) for x, value in model.assignment(start) or ()))
    solver = solver_of(effort.seconds, effort.work, workers=effort.workers, seed=effort.seed)
    parameters = solver.parameters
    parameters.cp_model_probing_level = 0
    parameters.symmetry_level = 0
    parameters.linearization_level = linearization
    while True:
        cp.minimize(in_order([(model.expression(tiers[i]), width) for i, width in chosen]))
        status = solver.solve(cp)
        # What variables could come to counts as well, such as all GPU time that could be lost.
        if status != cp_model.MODEL_INVALID or len(chosen) == 1:
            break
        chosen.pop()
    solved = accepted(status, cp, "a neighbourhood") in SOLVED
    found = model.extract(solver.value) if solved else None
    closed = status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return Descent(found, closed, solver.deterministic_time)
