"""Two searches around one incumbent: moves of single pods here, the exact search next door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kantopt import shares
from kantopt.clock import Deadline, elapsed
from kantopt.planning.solving.messages import search_task
from kantopt.planning.solving.news import News
from kantopt.planning.solving.refine import (
    bring_closer,
    closeness_is_next,
    come_nearer,
    complete,
    make_way,
    refine,
    send_home,
    spare,
    try_again,
)
from kantopt.planning.solving.solver_process import NO_TIME, SolverProcess
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import changes_tier
from kantopt.processor import own_use
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.technique import Technique
from kantopt.search.offer import squeaky
from kantopt.search.schedule import BESIDE, CP_SAT, REPAIR

if TYPE_CHECKING:
    from kantopt.planning.solving.run import Run


def until_last_word(deadline: Deadline) -> Deadline:
    """Return when an exact search is to stop so that its last word comes in time."""
    return deadline.less(min(shares.MOST_GRACE, deadline.remaining() * shares.GRACE))


def search_together(run: Run, forbidden: tuple[Placement, ...] = ()) -> Incumbent:
    """Better the plan until it is proved optimal, nothing more is tried or the time is up.

    With two workers or more the two searches run at the same time and tell each other what they
    find. A deterministic run must not depend on who is faster: there one follows the other, as
    where there is but one worker.

    Parameters
    ----------
    forbidden
        Placements whose moves have no order: others are looked for, apart from the incumbent of
        the run.

    Returns
    -------
    Incumbent
        The best that was found, and what was before.
    """
    options = run.options
    if not (forbidden or _at_once(run)):
        _refine_unless_exact(run)
    incumbent = _apart(run, forbidden) if forbidden else run.incumbent
    searching = run.searching
    # The exact search has its last word before: then that is the time limit, too.
    run.search_end = until_last_word(searching)
    deadline = searching
    if changes_tier(incumbent.tiers) is not None:
        deadline = searching.share(1 - shares.RETURNING)
    beside = False
    late = not incumbent.optimal and deadline.over() and not deadline.deterministic
    if late:
        # A task that nobody has time for is not even written out: of a large one that takes long.
        run.cut = True
        run.warnings += [] if options.engine == "fast" else [NO_TIME]
    elif not (incumbent.optimal or forbidden):
        if deadline.deterministic or options.engine == "fast":
            make_way(run, deadline)  # nobody looks for better places meanwhile
        beside = _moves_first(run, deadline)
    if not (late or incumbent.optimal or options.engine == "fast"):
        workers = options.workers - 1 if beside else options.workers
        task = search_task(incumbent, options, until_last_word(deadline), workers, forbidden)
        with run.solver or SolverProcess() as process:
            run.solver = None  # used up
            process.begin(task, incumbent)
            run.tell(News(elapsed(), "search"))
            if not forbidden:
                run.helper = process
                _refine_unless_exact(run, process)
            _get_ready_to_end(run)
            helps = not (forbidden or deadline.deterministic or options.engine == "exact")
            if helps:
                try_again(run, deadline.share(shares.STRATEGIES))
            if helps and beside:
                bring_closer(run, deadline.share(shares.REGROUP_BESIDE), process)
            elif helps:
                complete(run, deadline, process)
            if helps and squeaky(incumbent):
                if beside:
                    _move_on(run, deadline.share(1 - shares.MAKING_WAY), process)
                make_way(run, deadline)
            if beside:
                _move_on(run, deadline, process)
            process.wait(deadline, "proof")
        run.helper = None
        run.take(process, proved=incumbent.optimal)
        if process.infeasible and incumbent.missing and not forbidden:
            run.give_up_required()
            return search_together(run)
    spare(run.instance, incumbent, run.ordering.share(shares.SPARING))
    send_home(incumbent, run.ordering.share(shares.HOMECOMING))
    come_nearer(incumbent, run.last, searching)
    return incumbent


def _at_once(run: Run) -> bool:
    """Whether the exact search begins before the first plan is refined, and not after that."""
    writing = shares.WRITING_A_PODSET * len(run.instance.podsets)
    soon = writing <= shares.TASK * run.searching.remaining()
    counted = run.deadline.deterministic
    return run.options.engine != "fast" and run.options.workers > 1 and not counted and soon


def _refine_unless_exact(run: Run, process: SolverProcess | None = None) -> None:
    """Refine what the strategies made, once, unless the solver is to better it alone."""
    if run.options.engine != "exact" and refine(run, process):
        come_nearer(run.incumbent, run.last, run.searching.share(shares.RETURNING))
        if run.options.engine == "fast":
            bring_closer(run, run.searching.share(shares.REGROUP))


def _apart(run: Run, forbidden: tuple[Placement, ...]) -> Incumbent:
    """Begin with the best plan so far that is not among those without an order."""
    left_out = [placement.podsets for placement in forbidden]
    history = run.incumbent.history
    known = (*(one.placement for one in history[::-1]), run.instance.current)
    start = next(placement for placement in known if placement.podsets not in left_out)
    return run.begin(start, "nobody", run.incumbent.tally)


def _moves_first(run: Run, deadline: Deadline) -> bool:
    """Move single pods where that is not done beside the exact search; say whether it is."""
    options, counted = run.options, deadline.deterministic
    if options.engine == "exact" or _mover(run.incumbent) is None:
        return False
    if options.engine == "fast":
        _get_ready_to_end(run)
        _chains(run, deadline)
        return False
    if not (counted or _promising(run.incumbent)):
        return False
    if options.workers > 1 and not counted:
        return True
    _chains(run, deadline if counted else deadline.share(shares.CHAINS_BEFORE))
    return False


def _get_ready_to_end(run: Run) -> None:
    """Load what the ending needs, mostly while the exact search is at work, and try what it takes.

    Saying why jobs stay pending begins with counting what runs where: of a small question in no
    time, of a large one for as long as its rules have it.
    """
    import kantopt.search.order.concessions
    import kantopt.search.order.sequence  # noqa: F401
    from kantopt.search.reasons import get_ready

    if not run.small:
        began = elapsed()
        get_ready(run.instance, run.incumbent.placement)
        run.counting = elapsed() - began
        run.keep_for_ending(run.incumbent.placement)


def _mover(incumbent: Incumbent) -> Technique | None:
    """Return the technique that moves single pods: repair where it may serve; ``None`` for none."""
    may = [technique for technique in BESIDE if incumbent.tally.may(technique)]
    return next((each for each in may if each is not REPAIR or _repairs(incumbent)), None)


def _promising(incumbent: Incumbent) -> bool:
    """Whether moves of single pods may help: else the exact search gets all workers."""
    from kantopt.search.chains.improve import promising

    if _mover(incumbent) is REPAIR:
        return True
    return promising(incumbent.searched, incumbent.placement)


def _repairs(incumbent: Incumbent) -> bool:
    """Whether pods with devices wait that moves of others may find room for."""
    from kantopt.search.repair.improve import promising

    return promising(incumbent.searched, incumbent.placement, incumbent.tiers)


def _move_on(run: Run, deadline: Deadline, process: SolverProcess) -> None:
    """Move single pods, or whole gangs where it is next how far these are spread, beside a search.

    Chains go on where nothing more can be done about that and other tiers are open, too.
    """
    while process.open and not deadline.over() and not run.incumbent.optimal:
        if closeness_is_next(run):
            bring_closer(run, deadline, process)
            continue
        if not closeness_is_next(run, alone=True):
            _chains(run, deadline, process)
        if not closeness_is_next(run):
            process.wait(deadline, "news")


def _chains(run: Run, deadline: Deadline, process: SolverProcess | None = None) -> None:
    """Better the incumbent by moving single pods.

    Beside the exact search this goes on until the time is up, until that has shown that what is
    required has no place, or until it is next how far gangs are spread, in which chains have no
    say; else until it has long been in vain. So it does beside an exact search that waits for a
    processor, which then has this one's; and while that is CP-SAT with the whole question, this
    rests: what it finds meanwhile CP-SAT would not hear of.
    """
    incumbent = run.incumbent
    technique = _mover(incumbent)
    if technique is None:
        return
    by = technique.name
    incumbent.tally.began(by)
    if technique is REPAIR:
        from kantopt.search.repair.improve import improve
    else:
        from kantopt.search.chains.improve import improve

    def found(placement: Placement) -> None:
        incumbent.offer(placement, by)

    pods = sum(podset.count for podset in incumbent.instance.podsets)
    patience = 2 if technique is REPAIR else min(100 + 10 * pods, 5000)
    goes_on = process is not None and (technique is REPAIR or not own_use().starved)
    resting: Deadline | None = None

    def news() -> Placement | None:
        nonlocal resting
        if process is None:
            return None
        before = incumbent.best
        if not goes_on and process.at_work(CP_SAT):
            resting = resting or deadline.share(shares.RESTING)
            process.rest_beside(CP_SAT, resting)
        if process.look() is not None:
            send_home(incumbent, deadline.share(shares.HOMECOMING_BESIDE))
        return None if incumbent.best is before else incumbent.best.placement

    try:
        best = Incumbent(
            incumbent.searched,
            incumbent.tiers,
            incumbent.placement,
            found=found,
            enough=lambda _: process is not None and (process.infeasible or closeness_is_next(run)),
            known=incumbent.known,
        )
        improve(best, deadline, run.options.seed, patience=None if goes_on else patience, news=news)
    except Exception as error:  # a fault of the search must not cost the plan that is there
        run.warnings.append(f"the search by {by} failed: {type(error).__name__}: {error}")
    run.cut = run.cut or deadline.cuts()
