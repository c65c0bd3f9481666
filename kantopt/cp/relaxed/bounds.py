"""Proved bounds of the tiers before any search, from a relaxation that stays small."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ortools.sat.python import cp_model

from kantopt.clock import Deadline
from kantopt.cp.relaxed.contents import CONTENTS
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.relaxed.tiers import expression
from kantopt.cp.solve import round_up
from kantopt.cp.solver import accepted, search_alone, solver_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import DISTURBING, Tier
from kantopt.verify.closeness import CLOSENESS
from kantopt.verify.metrics import bounds

WORK, SHARE, BELOW = 1.2, 0.25, 0.02
"""Deterministic seconds for all tiers, and the shares of what is left of them for one, and for one
below a tier that stays open: what is not proved by then is a matter of search."""


def relaxed_bounds(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    deadline: Deadline,
    *,
    bound: Callable[[int, int], None],
    floors: Sequence[int] | None = None,
    beyond: bool = True,
) -> None:
    """Prove lower bounds of tiers whose values are not proved.

    Parameters
    ----------
    instance
        The question.
    tiers, values
        The tiers and their values in a legal plan. A bound holds for plans that are no worse than
        it in the tiers above.
    deadline
        When to stop; the tiers from there on get no bound.
    bound
        Called with the index of a tier and its bound, in the order of the tiers, for bounds that
        are better than what is known.
    floors
        Bounds of the tiers that are known; by default those of arithmetic. What they prove is not
        proved again.
    beyond
        Go on below a tier that stays open.

    Raises
    ------
    ValueError
        If no plan at all is as good as the values, which then are not those of a legal plan.
    """
    if floors is None:
        floors = bounds(instance, tiers, values)
    last = max((i for i, floor in enumerate(floors) if floor < values[i]), default=-1)
    if last < 0 or deadline.over():
        return
    relaxation = Relaxation(instance, tiers)
    departures, work, share = False, WORK, SHARE
    for i, tier in enumerate(tiers[: last + 1]):
        if floors[i] >= values[i] and tier.metric in CLOSENESS:
            continue  # as a lock it is not worth the rows that it takes
        expr = expression(relaxation, tier)
        if expr is None or isinstance(expr, int):
            continue  # nothing to say
        # That a sum over contents is no more than it is makes the search for the least far longer.
        late = tier.metric in CONTENTS and floors[i] < values[i]
        if not late:
            relaxation.cp.add(expr <= values[i])
        if floors[i] >= values[i]:
            continue
        if deadline.over():
            return
        if tier.metric in DISTURBING and not departures:
            departures = True
            relaxation.add_departures()
        relaxation.cp.minimize(expr)
        found, spent = _least(relaxation, tier, deadline, share * work)
        work -= spent
        if found < values[i]:
            share = BELOW
        if late:
            relaxation.cp.add(expr <= values[i])
        if found > floors[i]:
            bound(i, min(found, values[i]))
        if found < values[i] and not beyond:
            return


def _least(
    relaxation: Relaxation, tier: Tier, deadline: Deadline, work: float
) -> tuple[int, float]:
    """Lower bound of the objective, whether or not the solver gets to its end, and its work."""
    solver = solver_of(None if deadline.deterministic else deadline.remaining(), work)
    search_alone(solver, small=True)
    cp = relaxation.cp
    if accepted(solver.solve(cp), cp, f"tier {tier.name}") == cp_model.INFEASIBLE:
        raise ValueError(f"tier {tier.name}: no plan is as good as the values given")
    return round_up(solver.best_objective_bound), min(work, solver.deterministic_time)
