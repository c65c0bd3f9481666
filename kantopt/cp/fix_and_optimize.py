"""Fix-and-optimize (Gintner, Kliewer and Suhl 2005): one exact model of all that is not fixed.

Where new pods go that are placed for certain, and who leaves for them, tier after tier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import OPTIMAL, CpSolver, LinearExprT

from kantopt.clock import Deadline
from kantopt.cp.lexicographic import in_order
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import SOLVED, hint_solution, solver_of
from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics import measure

WORKERS = 2
"""One alone has no neighbourhoods."""
_FIRST = 0.5
"""Of the time, for the first tier that is open; the others share what is left."""
_LEAST = 0.5
"""Seconds for each of them: with fewer none gets anywhere."""
_GPU = 1000


def descents(
    question: Instance,
    tiers: Sequence[Tier],
    start: Placement,
    proved: int,
    deadline: Deadline,
) -> Iterator[Placement]:
    """Yield legal placements, each better than the one before, tier after tier.

    Parameters
    ----------
    question
        Its new pods are placed as many as ``start`` has.
    tiers
        What is minimised, the most important first.
    start
        A legal placement.
    proved
        How many of the first tiers cannot be less than they are.
    """
    model = PlacementModel(question)
    m = model.variables
    for podset in question.podsets:
        if not podset.running:
            m.cp.add(m.placed(podset.index) == start.placed(podset.index))
    _leave_together(m)
    exprs = [model.expression(tier) for tier in tiers]
    model.hint(start)  # once there is all that is to be hinted
    values = measure(question, start, tiers)
    beside: list[tuple[LinearExprT, int]] = []
    for i, expr in enumerate(exprs):
        if values[i] and i >= proved:
            left = 1 + sum(value > 0 for value in values[i + 1 :])
            share = 1 / left if beside else max(_FIRST, 1 / left)
            m.cp.minimize(in_order([(expr, 1), *beside]))
            seconds = max(_LEAST, deadline.remaining() * share)
            solver = _solver(min(seconds, deadline.remaining()))
            status = None if deadline.over() else solver.solve(m.cp)
            if status not in SOLVED:
                return
            found = model.extract(solver.value)
            measured = measure(question, found, tiers)
            if measured < values:  # as good in this tier it may be worse in others
                values = measured
                hint_solution(m.cp, solver)
                yield found
            elif not beside and status != OPTIMAL:
                return  # the time is better spent on a few nodes each
            beside = [_harm(m)]
        m.cp.add(expr <= values[i])


def _solver(seconds: float) -> CpSolver:
    """Return a solver that begins soon, from the hint: symmetries broken mostly lose it."""
    solver = solver_of(seconds, workers=WORKERS)
    parameters = solver.parameters
    parameters.symmetry_level = 0
    parameters.cp_model_probing_level = 0
    parameters.max_presolve_iterations = 1
    return solver


def _leave_together(m: Variables) -> None:
    """Say of gangs that are full or empty by one Boolean which they are: it is soon branched on."""
    for job in m.instance.jobs:
        running = m.instance.running_of(job.index)
        whole = job.is_gang and job.least == job.count == m.instance.running_pods(job.index)
        if not whole or any(m.arrive[s] for s in running):
            continue
        stays = m.cp.new_bool_var(f"stays[{job.index}]")
        for s in running:
            for spot, pods in m.instance.podsets[s].current.items():
                if spot in m.stay[s]:
                    m.cp.add(m.stay[s][spot] == pods * stays)


def _harm(m: Variables) -> tuple[LinearExprT, int]:
    """Return GPUs evicted and then pods moved as one sum, and one more than it can be.

    Of tiers below the first, what they do not ask for is kept small with them. With the first,
    which is the longest, it would be in the way.
    """
    running = [podset for podset in m.instance.podsets if podset.running]
    moving = [podset for podset in running if m.arrive[podset.index]]
    a_move = 1 + m.instance.pods_of(podset.index for podset in moving)
    terms: Terms = [(m.arrived(podset.index), 1) for podset in moving]
    width = a_move
    for podset in running:
        if m.may_lose(podset):
            weight = a_move * max(1, podset.gpu_milli // _GPU)
            terms.append((m.evicted(podset.index), weight))
            width += weight * podset.count
    return weighted(terms), width
