"""What the plan document says of a run: its plan, what is proved of it, and who stays pending."""

from __future__ import annotations

from typing import Literal

from kantopt.clock import Deadline
from kantopt.planning.document.left import left_pending
from kantopt.planning.document.tiers import tier_rows, unless_unsure
from kantopt.planning.document.write import Answer
from kantopt.planning.drained import drain_words
from kantopt.planning.first_come import first_come
from kantopt.planning.solving.cut_short import TOO_LATE, what_ended
from kantopt.planning.solving.run import KEPT, Run
from kantopt.problem.actions import Wave
from kantopt.problem.difference import apply
from kantopt.problem.placement import Placement
from kantopt.problem.stricter import stricter_rules
from kantopt.schema.answers import plan as docs
from kantopt.schema.answers.cascade import Cascade
from kantopt.schema.answers.left import stricter_words
from kantopt.schema.model import Rule
from kantopt.search.cascade import cascade
from kantopt.search.reasons import first_reason, get_ready
from kantopt.search.schedule import BESIDE, LAST, LOCAL_SEARCH, SQUEAKY_WHEEL, techniques
from kantopt.verify.replay import replay
from kantopt.verify.rules import check


def answer_of(run: Run, placement: Placement, waves: tuple[Wave, ...], *, examined: bool) -> Answer:
    """Gather what the plan document says; ``placement`` is what answers the question."""
    finder = next((one.by for one in run.incumbent.history if one.placement is placement), "cp-sat")
    placement, waves = oldest_first(run, placement, waves)
    known = run.incumbent.known
    rows = tier_rows(
        run.tiers,
        run.incumbent.judged(run.instance.current).values,
        run.incumbent.judged(placement).values,
        known if examined else None,
    )
    rows = unless_unsure(rows, run.tiers, run.asked, run.unsure)
    missing = check(run.asked, placement, (Rule.REQUIRED,))
    stricter = stricter_rules(run.asked, run.asked.required) if run.ruled_out else ()
    alone = "" if run.asked.model.pending is None else ", other pending jobs left aside"
    alone += stricter_words(stricter)
    run.warnings += [
        f"{v.subject} is required and "
        + (f"provably has no place{alone}" if run.ruled_out else "was not placed")
        + f" ({v.message})"
        for v in missing
    ]
    proved = all(row.status == "OPTIMAL" for row in rows) and not missing
    status: docs.Status = "OPTIMAL" if proved else "FEASIBLE"
    if run.ruled_out:
        status = "INFEASIBLE"
    elif not examined:
        status = "UNKNOWN"
    final = apply(run.instance.current, waves) if examined else placement
    follows = _cascade(run, final)
    end = run.search_end or run.searching
    cut = run.cut and not proved
    ended = what_ended(run.deadline, end, open_and_cut=cut, examined=examined)
    told = (*ended, *run.starved(proved=proved), *run.warnings)
    until = _saying_why(run, final) if examined else None
    return Answer(
        placement=final,
        waves=waves,
        tiers=rows,
        solver=docs.Solver(
            engine=run.options.engine,
            strategy=_strategy(run),
            found_by="none" if not examined else _found_by(run, finder),
            status=status,
            stricter=stricter,
            seed=run.options.seed,
            deterministic=run.deadline.deterministic,
            reproducible=not run.cut and (run.deadline.deterministic or not run.ortools_version),
            ortools_version=run.ortools_version,
            techniques=_uses(run),
        ),
        unplaced=left_pending(run.instance, final, lambda j: _why(run, final, j, until)),
        standing=run.standing,
        warnings=(*told, *drain_words(run.asked, final)),
        cascade=follows,
    )


def oldest_first(
    run: Run, placement: Placement, waves: tuple[Wave, ...]
) -> tuple[Placement, tuple[Wave, ...]]:
    """Let the oldest of equals have their places, as far as the judge allows."""
    found, order = first_come(run.instance, placement, waves, run.last)
    if found is placement:
        return placement, waves
    faults = (*check(run.instance, found), *replay(run.instance, order)[0])
    fault = next((each for each in faults if each.rule != Rule.REQUIRED), None)
    if fault is None:
        return found, order
    run.warnings.append(f"who came first among equals was not looked at: {fault}")
    return placement, waves


def _cascade(run: Run, placement: Placement) -> Cascade | None:
    """Replay the plan with its victims in the queue, if it has any that are made anew."""
    found = cascade(run.instance, placement, run.telling, run.bears)
    run.cut = run.cut or (found is not None and run.deadline.cuts())
    return found


def _strategy(run: Run) -> str:
    """Name what made the fast path's plan: a strategy, and the moves that bettered it."""
    fast = (SQUEAKY_WHEEL,) if run.options.engine == "fast" else ()
    movers = (LOCAL_SEARCH, *fast, *BESIDE, *LAST)
    by = [each.name for each in movers if each.name in run.incumbent.finders]
    return " and ".join([run.strategy, *by])


def _found_by(run: Run, finder: str) -> Literal["fast", "cp-sat", "last-plan"]:
    if finder == KEPT:
        return "last-plan"
    exact = {each.name for each in techniques() if each.process == "solver"}
    return "cp-sat" if finder in exact and run.options.engine != "fast" else "fast"


def _uses(run: Run) -> tuple[docs.Technique, ...]:
    """What each technique did that had its turn, in the order of the schedule."""
    uses = run.incumbent.tally.uses
    return tuple(
        docs.Technique(
            name=each.name,
            runs=use.runs,
            plans=use.plans,
            bounds=use.bounds,
            why_not="" if use.runs else use.why_not,
        )
        for each in techniques()
        if (use := uses.get(each.name)) is not None
    )


def _saying_why(run: Run, placement: Placement) -> Deadline:
    """Get ready to say why jobs stay pending; return until when, counted from then."""
    get_ready(run.instance, placement)
    return run.saying_why


def _why(run: Run, placement: Placement, j: int, until: Deadline | None) -> tuple[str, str]:
    """Say what keeps a job pending, as long as there is time to look; without one, never."""
    if until is not None and (until.deterministic or not until.over()):
        return first_reason(run.instance, placement, j)
    run.cut = True
    return "not examined", TOO_LATE
