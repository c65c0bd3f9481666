"""Plans of the exact search gone on from in the planner's process: completed, gangs closer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kantopt import shares
from kantopt.clock import Deadline
from kantopt.planning.solver_process import SolverProcess
from kantopt.problem.placement import Placement
from kantopt.search.schedule import EXCHANGE, SQUEAKY_WHEEL
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


def try_again(run: Run, deadline: Deadline, process: SolverProcess) -> None:
    """Construct in another order, if there was no time for that before the exact search began."""
    if run.one_order and not run.incumbent.optimal:
        _construct(run, deadline.share(shares.STRATEGIES), process, largest_first=True)


def complete(run: Run, deadline: Deadline, process: SolverProcess) -> None:
    """Let the fast path go on from each plan of an exact search, until that ends.

    One made after counts of domains is right in some objectives and may leave out much below.
    """
    best = run.incumbent
    while not (best.optimal or deadline.over()):
        if not _regroup(run, deadline, process):
            before = best.placement
            process.wait(deadline, "news")
            if best.placement is before:
                return
        if best.leaves_out():
            _construct(run, deadline, process, best.placement)


def _construct(
    run: Run,
    deadline: Deadline,
    process: SolverProcess,
    start: Placement | None = None,
    *,
    largest_first: bool = False,
) -> None:
    """Construct, from a placement on, place several jobs for one, tell an exact search of it."""
    from kantopt.search.exchange import exchange
    from kantopt.search.portfolio import offer_constructed

    best, before = run.incumbent, run.incumbent.placement
    strategy = (run.options.strategies or DEFAULT_PORTFOLIO)[0]
    offer_constructed(best, deadline, strategy, largest_first=largest_first, start=start)
    if best.tally.may(EXCHANGE):
        others = exchange(best.searched, best.placement, run.tiers, deadline)
        best.offer(others, EXCHANGE.name)
    if best.placement is not before:
        process.offer(best.placement)
