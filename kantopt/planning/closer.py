"""Gangs of the best plan brought closer together, in the planner's process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kantopt.clock import Deadline
from kantopt.planning.solver_process import SolverProcess
from kantopt.problem.placement import Placement
from kantopt.search.schedule import SQUEAKY_WHEEL

if TYPE_CHECKING:
    from kantopt.planning.run import Run


def bring_closer(run: Run, deadline: Deadline, process: SolverProcess | None = None) -> None:
    """Place new jobs anew, in the room that they have, until that has long been in vain.

    Beside an exact search this begins anew with each better plan that comes from there.
    """
    from kantopt.search.techniques.squeaky_wheel import regroup, spread_tiers

    best = run.incumbent
    spread = spread_tiers(run.tiers)
    start: Placement | None = None
    while start is not best.placement and not (best.missing or best.optimal or deadline.cuts()):
        if not any(best.values[i] for i in spread) or not best.tally.may(SQUEAKY_WHEEL):
            return
        start = best.placement

        def found(placement: Placement) -> bool:
            if best.offer(placement, SQUEAKY_WHEEL.name) and process is not None:
                process.offer(placement)
            return best.fault is None

        def news() -> bool:
            return process is not None and (process.look() is not None or best.optimal)

        seed = run.options.seed
        regroup(best.searched, start, run.tiers, deadline, found, seed=seed, news=news)
        if process is None:
            return
