"""Plans of the exact search gone on from in the planner's process: completed, gangs closer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kantopt.clock import Deadline
from kantopt.planning.solver_process import SolverProcess
from kantopt.problem.placement import Placement
from kantopt.search.schedule import EXCHANGE, RELOCATION, SQUEAKY_WHEEL
from kantopt.search.strategy import DEFAULT_PORTFOLIO

if TYPE_CHECKING:
    from kantopt.planning.run import Run


def bring_closer(run: Run, deadline: Deadline, process: SolverProcess | None = None) -> None:
    """Place new jobs anew, in the room that they have, until that has long been in vain.

    Beside an exact search this begins anew with each better plan that comes from there.
    """
    while _regroup(run, deadline, process):
        pass


def _regroup(run: Run, deadline: Deadline, process: SolverProcess | None) -> bool:
    """Bring gangs of the best plan closer; say whether a better one from elsewhere ended that."""
    from kantopt.search.techniques.squeaky_wheel import regroup, spread_tiers

    best, news = run.incumbent, False
    wide = any(best.values[i] for i in spread_tiers(run.tiers))
    if not wide or best.missing or deadline.cuts() or not best.tally.may(SQUEAKY_WHEEL):
        return False

    def found(placement: Placement) -> bool:
        if best.offer(placement, SQUEAKY_WHEEL.name) and process is not None:
            process.offer(placement)
        return best.fault is None

    def ended() -> bool:
        nonlocal news
        news = process is not None and process.look() is not None
        return news or best.optimal

    seed = run.options.seed
    regroup(best.searched, best.placement, run.tiers, deadline, found, seed=seed, news=ended)
    return news


def complete(run: Run, deadline: Deadline, process: SolverProcess) -> None:
    """Let the fast path go on from each plan of an exact search, until that ends.

    One made after counts of domains is right in some objectives and may leave out much below.
    """
    from kantopt.search.construct import construct
    from kantopt.search.exchange import exchange

    best, strategy, news = run.incumbent, DEFAULT_PORTFOLIO[0], False
    while process.open and not deadline.over() and not best.optimal:
        start = best.placement
        if not news:
            process.wait(deadline, "news")
            news = best.placement is not start
        if news and best.leaves_out():
            start, relocate = best.placement, best.tally.may(RELOCATION)
            more = construct(best.searched, deadline, strategy, relocate=relocate, start=start)
            best.offer(more, strategy.value)
            if best.tally.may(EXCHANGE):
                others = exchange(best.searched, best.placement, run.tiers, deadline)
                best.offer(others, EXCHANGE.name)
            if best.placement is not start:
                process.offer(best.placement)
        news = news and _regroup(run, deadline, process)
