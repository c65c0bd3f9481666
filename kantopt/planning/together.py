"""Two searches around one incumbent: moves of single pods here, the exact search next door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kantopt.clock import Deadline
from kantopt.planning.exact import NO_TIME, Exact, search_task
from kantopt.planning.options import Options
from kantopt.planning.solver_process import SolverProcess
from kantopt.problem.placement import Placement
from kantopt.processor import CpuUse
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.technique import Technique
from kantopt.search.schedule import BESIDE, REPAIR
from kantopt.shares import CHAINS_BEFORE

WORK_PER_SECOND = 0.05
"""Deterministic seconds per second of the time limit: few enough that the clock rarely decides."""


@dataclass(slots=True)
class Ending:
    """How the searches ended."""

    cut: bool = False
    """The clock or a signal has ended something before its time."""
    infeasible: bool = False
    """A required job provably has no place."""
    ortools_version: str = ""
    warnings: list[str] = field(default_factory=list)
    cpu: CpuUse = field(default_factory=CpuUse)
    """What the process of the exact search has used."""


def search_together(
    incumbent: Incumbent,
    options: Options,
    deadline: Deadline,
    *,
    begun: Callable[[], None] = lambda: None,
    process: SolverProcess | None = None,
    forbidden: Sequence[Placement] = (),
) -> Ending:
    """Better the incumbent until it is proved optimal, nothing more is tried or the time is up.

    With two workers or more the two searches run at the same time and tell each other what they
    find. A deterministic run must not depend on who is faster: there one follows the other, as
    where there is but one worker.

    Parameters
    ----------
    begun
        Called when the exact search has its task.
    process
        A process that waits for a task; it is used up.
    forbidden
        Placements whose moves have no order: the exact search leaves them out.
    """
    ending = Ending()
    if incumbent.optimal:
        return ending
    if deadline.over() and not deadline.deterministic:
        # A task that nobody has time for is not even written out: of a large one that takes long.
        ending.cut = True
        if options.engine != "fast":
            ending.warnings.append(NO_TIME)
        return ending
    chained = options.engine != "exact" and not forbidden and _mover(incumbent) is not None
    if options.engine == "fast":
        if chained:
            _chains(incumbent, options, deadline, ending)
        return ending
    if chained and not deadline.deterministic:
        chained = _promising(incumbent)
    beside = chained and options.workers > 1 and not deadline.deterministic
    if chained and not beside:
        share = deadline if deadline.deterministic else deadline.share(CHAINS_BEFORE)
        _chains(incumbent, options, share, ending)
    if incumbent.optimal:
        return ending
    with Exact(incumbent, process) as exact:
        workers = options.workers - 1 if beside else options.workers
        work = None
        if deadline.deterministic and deadline.asked is not None:
            work = deadline.asked * WORK_PER_SECOND
        exact.begin(search_task(incumbent, options, deadline, workers, work, forbidden))
        begun()
        while beside and exact.open and not deadline.over() and not incumbent.optimal:
            _chains(incumbent, options, deadline, ending, exact)
            exact.wait(deadline, for_news=True)
        exact.wait(deadline, for_news=False)
    ending.warnings += exact.warnings
    ending.cpu = exact.cpu
    ending.infeasible = exact.infeasible and bool(incumbent.missing)
    ending.ortools_version = exact.ortools_version
    ending.cut = ending.cut or not (exact.ended or incumbent.optimal)
    return ending


def _mover(incumbent: Incumbent) -> Technique | None:
    """Return the technique that moves single pods: repair where it may serve; ``None`` for none."""
    may = [technique for technique in BESIDE if incumbent.tally.allows(technique)]
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


def _chains(
    incumbent: Incumbent,
    options: Options,
    deadline: Deadline,
    ending: Ending,
    exact: Exact | None = None,
) -> None:
    """Better the incumbent by moving single pods.

    Beside the exact search this goes on until the time is up, or until that has shown that what is
    required has no place; else until it has long been in vain.
    """
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
        if incumbent.offer(placement, by) and exact is not None and not incumbent.missing:
            exact.offer(placement)

    pods = sum(podset.count for podset in incumbent.instance.podsets)
    patience = 2 if technique is REPAIR else min(100 + 10 * pods, 5000)
    try:
        best = Incumbent(
            incumbent.searched,
            incumbent.tiers,
            incumbent.placement,
            found=found,
            enough=lambda values: (
                incumbent.known.optimal(values) or (exact is not None and exact.infeasible)
            ),
        )
        if exact is None:
            improve(best, deadline, options.seed, patience=patience)
        else:
            improve(best, deadline, options.seed, news=exact.look)
    except Exception as error:  # a fault of the search must not cost the plan that is there
        ending.warnings.append(f"the search by {by} failed: {type(error).__name__}: {error}")
    ending.cut = ending.cut or deadline.cuts()
