"""Plans gone on from in the planner's process: refined, completed, their gangs closer.

And last touches to the best one: who can stay does, the last plan comes nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kantopt import shares
from kantopt.clock import Deadline
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import changes_tier
from kantopt.schema.model import Metric
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.portfolio import intensify, new_pods_make_way
from kantopt.search.schedule import (
    EXCHANGE,
    HOMECOMING,
    LOCAL_SEARCH,
    RETURNING,
    SPARING,
    SQUEAKY_WHEEL,
)
from kantopt.search.strategy import DEFAULT_PORTFOLIO

if TYPE_CHECKING:
    from kantopt.planning.solving.run import Run


def refine(run: Run, process: SolverProcess | None = None) -> bool:
    """Try more strategies, place more around what they make, and move pods for goals; once.

    Beside an exact search each better plan that comes from there is gone on from. Returns whether
    it was the first time.
    """
    if run.rough is None:
        return False
    (fresh, made, more), run.rough = run.rough, None
    best, deadline = run.incumbent, run.searching
    offered = fresh.placement

    def look() -> bool:
        nonlocal offered
        if fresh is not best and fresh.placement is not offered:
            offered = fresh.placement
            best.offer(offered, fresh.best.by)
        return process is not None and process.look() is not None

    *_, made = made, *more
    look()
    strategy = intensify(fresh, made, deadline, seed=run.options.seed, look=look)
    run.cut = run.cut or deadline.cuts()
    look()
    if fresh is best or best.placement is fresh.placement:
        run.strategy = strategy.value
    _tidy(run, fresh.placement, deadline, look)
    _insert(run, deadline)
    return True


def _tidy(run: Run, fresh: Placement, deadline: Deadline, look: Callable[[], bool]) -> None:
    """Move pods for goals that are not reached yet.

    Of an earlier plan the moves may be used up: then from what was constructed as well.
    """
    best = run.incumbent

    def found(placement: Placement) -> bool:
        best.offer(placement, LOCAL_SEARCH.name)
        legal = best.fault is None
        look()
        return legal

    kept = run.last is not None and best.placement is not fresh
    for afresh in (True, False) if kept else (False,):
        done = best.optimal or best.missing or deadline.cuts()
        if not done and best.tally.begins(LOCAL_SEARCH):
            from kantopt.search.tidy.improve import tidy

            start = fresh if afresh else best.placement
            tidy(best.searched, start, run.tiers, deadline, run.options.seed, found)


def _insert(run: Run, deadline: Deadline) -> None:
    """Place who waits at no cost to what comes before, where construction has paid for it."""
    from kantopt.search.tidy.harmless import above_pending, insert_harmless

    best, above = run.incumbent, above_pending(run.tiers)
    if above and best.leaves_out() and not deadline.cuts() and best.tally.begins(LOCAL_SEARCH):
        strategy = (run.options.strategies or DEFAULT_PORTFOLIO)[0]
        end = deadline.share(shares.FIT)
        more = insert_harmless(best.searched, best.placement, above, strategy, end)
        best.offer(more, LOCAL_SEARCH.name)


def bring_closer(run: Run, deadline: Deadline, process: SolverProcess | None = None) -> None:
    """Place new jobs anew, in the room that they have, until that has long been in vain.

    Beside an exact search this begins anew with each better plan that comes from there.
    """
    while _regroup(run, deadline, process):
        pass
    run.closest = run.incumbent.placement


def closeness_is_next(run: Run, *, alone: bool = False) -> bool:
    """Whether the first tier that is open says how far gangs are spread, and all if ``alone``.

    Not of a plan that could not be brought closer already.
    """
    from kantopt.search.techniques.squeaky_wheel import closeness_tiers

    best, spread = run.incumbent, closeness_tiers(run.tiers)
    if best.placement is run.closest and not alone:
        return False
    unproved = [i for i, value in enumerate(best.values) if value > best.floor(i)]
    asked = unproved if alone else unproved[:1]
    return bool(asked) and all(i in spread for i in asked)


def _regroup(run: Run, deadline: Deadline, process: SolverProcess | None) -> bool:
    """Bring gangs of the best plan closer; say whether a better one from elsewhere ended that."""
    from kantopt.search.techniques.squeaky_wheel import closeness_tiers, regroup

    best, news = run.incumbent, False
    wide = any(best.values[i] for i in closeness_tiers(run.tiers))
    if not wide or best.missing or deadline.cuts() or not best.tally.begins(SQUEAKY_WHEEL):
        return False

    def found(placement: Placement) -> bool:
        best.offer(placement, SQUEAKY_WHEEL.name)
        return best.fault is None

    def ended() -> bool:
        nonlocal news
        news = process is not None and process.look() is not None
        return news or best.optimal

    seed = run.options.seed
    regroup(best.searched, best.placement, run.tiers, deadline, found, seed=seed, news=ended)
    return news


def try_again(run: Run, deadline: Deadline) -> None:
    """Construct in another order, if there was no time for that before the exact search began."""
    if run.one_order and not run.incumbent.optimal:
        _construct(run, deadline, largest_first=True)


def make_way(run: Run, deadline: Deadline) -> None:
    """Let new pods make way for who is left out still: others have found no place for them."""
    strategy = (run.options.strategies or DEFAULT_PORTFOLIO)[0]
    new_pods_make_way(run.incumbent, deadline, strategy, seed=run.options.seed)


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
            _construct(run, deadline, best.placement)


def _construct(
    run: Run, deadline: Deadline, start: Placement | None = None, *, largest_first: bool = False
) -> None:
    """Construct, from a placement on, and place several jobs for one."""
    from kantopt.search.construct import How
    from kantopt.search.exchange import exchange
    from kantopt.search.offer import offer_constructed

    best = run.incumbent
    strategy = (run.options.strategies or DEFAULT_PORTFOLIO)[0]
    how = How(strategy, largest_first=largest_first, start=start)
    offer_constructed(best, deadline, how)
    if best.tally.begins(EXCHANGE):
        others = exchange(best.searched, best.placement, run.tiers, deadline)
        best.offer(others, EXCHANGE.name)
    _insert(run, deadline)


def spare(instance: Instance, incumbent: Incumbent, deadline: Deadline) -> None:
    """Let victims stay that a look at free places can save; what is proved has none of them."""
    from kantopt.search.cascade import evicts

    best = incumbent.placement
    if incumbent.optimal or not evicts(instance, best):
        return
    if not incumbent.tally.begins(SPARING):
        return
    from kantopt.verify.victims.spared import with_victims_spared

    for placement in with_victims_spared(instance, best, deadline.cuts):
        incumbent.offer(placement, SPARING.name)


def send_home(incumbent: Incumbent, deadline: Deadline) -> None:
    """Take moves back that no objective needs, where the model counts them.

    Who has found room for somebody late has had no time to see which moves that takes.
    """
    moved = any(
        tier.metric is Metric.MOVES and incumbent.values[i] > incumbent.floor(i)
        for i, tier in enumerate(incumbent.tiers)
    )
    if moved and not incumbent.optimal and incumbent.tally.begins(HOMECOMING):
        from kantopt.search.homecoming import come_home

        come_home(incumbent, deadline.cuts, HOMECOMING.name)


def come_nearer(incumbent: Incumbent, last: Placement | None, deadline: Deadline) -> None:
    """Undo differences to an earlier plan that no objective needs, where the model counts them."""
    if (
        last is None
        or changes_tier(incumbent.tiers) is None
        or incumbent.missing
        or incumbent.optimal
    ):
        return
    if incumbent.tally.begins(RETURNING):
        from kantopt.search.nearer import nearer

        nearer(incumbent, last, deadline.cuts, RETURNING.name)
