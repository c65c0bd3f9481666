"""Defragmentation: reach goals with the fewest moves, or go as far as some moves take it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from kantopt.clock import Deadline
from kantopt.planning.document.goals import benefit, disturbed, most_benefit
from kantopt.planning.document.identity import identified
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.news import Tell
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.planning.written_goals import drained, read_goals
from kantopt.problem.chosen import as_cordoned, has_label
from kantopt.schema.answers.plan import Plan
from kantopt.schema.extends import load_model
from kantopt.schema.model import Limits, Metric, Model, Objective
from kantopt.schema.quantity import parse_quantity
from kantopt.shares import DEFRAG_FIRST

DEFAULT = "defrag"
"""The shipped model that is used where none is given."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to tidy up, and what that may cost.

    Attributes
    ----------
    goals
        Goals as written on the command line; none: the objectives of the model.
    model
        The model given; ``None``: ours.
    limits
        Those given stand above the model's.
    exempt
        Labels of pods to leave alone, beside the model's.
    min_benefit
        Least that the goals gain per disturbed pod, in place of the model's.
    """

    goals: tuple[str, ...] = ()
    model: Model | None = None
    limits: Limits = field(default_factory=Limits)
    exempt: tuple[str, ...] = ()
    min_benefit: str | int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The model to plan by."""

    model: Model
    doubts: tuple[str, ...] = ()
    """What was asked for beyond all that there is, or of what there is nothing."""


def asked(question: Question, wish: Wish) -> Asked:
    """Return what a wish means for a cluster.

    Nobody is evicted unless a limit of evictions says so, and no pending pod is bound but those
    of jobs to make room for.

    Raises
    ------
    UsageError
        If a goal cannot be understood or names what the cluster does not have.
    BadDataError
        If the documents contradict each other.
    """
    given = wish.model or question.model
    model = given or load_model(DEFAULT)
    named = {name: getattr(wish.limits, name) for name in sorted(wish.limits.model_fields_set)}
    limits: dict[str, object] = {"evictions": model.limits.evictions or 0, **named}
    if given is None and wish.goals:
        limits = {"moves": None, **limits}  # the limit that ours has is for its own objectives
    update: dict[str, object] = {
        "limits": model.limits.model_copy(update=limits),
        "pending": model.pending or (),
        "exempt": tuple(dict.fromkeys((*model.exempt, *wish.exempt))),
    }
    if wish.min_benefit is not None:
        update["min_benefit"] = wish.min_benefit
    model = model.model_copy(update=update)
    doubts = tuple(_nobodys(question, model.exempt))
    if not wish.goals:
        return Asked(model, doubts)
    nodes = drained(wish.goals, [node.name for node in question.snapshot.nodes])
    model = model.model_copy(update={"drain": tuple(dict.fromkeys((*model.drain, *nodes)))})
    wishes = read_goals(
        wish.goals, question.instance(model), as_cordoned(question.jobs, model.drain)
    )
    last = ("evictions", "moves") if limits["evictions"] else ("moves",)
    last = (*last, Metric.CHANGES_TO_PLAN.value)
    objectives = (*wishes.objectives, *(Objective.model_validate(name) for name in last))
    update = {"objectives": objectives, "required": ()}
    if wishes.fit:
        update["pending"] = wishes.fit
    return Asked(model.model_copy(update=update), (*wishes.beyond, *doubts))


def _nobodys(question: Question, selectors: Iterable[str]) -> Iterator[str]:
    """Yield the labels that are to exempt pods and that no pod has."""
    labels = [podset.labels for job in question.jobs for podset in job.pod_sets]
    for selector in selectors:
        if not any(has_label(each, selector) for each in labels):
            yield f"exempt {selector}: no pod has this label, so it keeps nobody"


def defragment(
    question: Question,
    wanted: Asked,
    options: Options,
    deadline: Deadline,
    tell: Tell = lambda _: None,
    solver: SolverProcess | None = None,
    last: Plan | None = None,
    *,
    again: bool = False,
) -> Result:
    """Plan moves that reach the goals.

    Where the goals gain less per disturbed pod than they must, so many pods are disturbed as the
    gain is worth and the question asked again: what is left is worth its moves, at last nothing at
    all. If no plan at all gains so much that it were worth more pods, it is the largest such gain;
    else only what is proved of the question as it was asked is said.

    Parameters
    ----------
    question
        The documents.
    wanted
        What :func:`asked` returns.
    options, deadline, tell, solver, last, again
        As of :func:`kantopt.planning.plan.make_plan`.

    Raises
    ------
    BadDataError
        If the documents contradict each other.
    """
    model, doubts = wanted.model, wanted.doubts
    least = parse_quantity(model.min_benefit or 0)
    if not least:
        result = make_plan(question, model, options, deadline, tell, solver, last, again=again)
        return _told(result, doubts)

    def ask(evictions: int, moves: int) -> Result:
        limits = model.limits.model_copy(update={"evictions": evictions, "moves": moves})
        fewer = model.model_copy(update={"limits": limits})
        return make_plan(question, fewer, options, deadline, tell, None, last, part=DEFRAG_FIRST)

    # Of the questions that follow one was answered last: not this one, perhaps.
    result = make_plan(question, model, options, deadline, tell, solver, last, part=DEFRAG_FIRST)
    first, gained, sure = result, benefit(result.plan), True
    while (pods := disturbed(result.plan)) and benefit(result.plan) < least * pods:
        most = most_benefit(result.plan)
        sure = sure and most is not None and most < least * pods
        worth = (most if sure and most is not None else benefit(result.plan)) // least
        result, whole = _within(max(0, worth), model.limits, ask)
        sure = sure and whole
    if result is not first:
        pods = disturbed(first.plan)
        text = (
            f"a gain of {_decimal(gained)} for {pods} disturbed pods is less than the "
            f"{_decimal(least)} per pod that is asked for: fewer are moved"
        )
        result = _told(result if sure else _as_proved(result, first.plan), (text,))
    return _told(result, doubts)


def _within(most: int, limits: Limits, ask: Callable[[int, int], Result]) -> tuple[Result, bool]:
    """Return a plan that disturbs so many pods at most; whether what it proves holds for all such.

    ``ask`` is given most evictions and most moves.
    """
    moves, evictions = limits.moves, min(most, limits.evictions or 0)

    def of(evicted: int, moved: int) -> Result:
        return ask(evicted, moved if moves is None else min(moves, moved))

    result = of(evictions, most)
    if disturbed(result.plan) <= most:
        return result, True
    shared = [of(e, most - e) for e in range(min(evictions, _MOST_SHARES) + 1)]
    return max(shared, key=lambda each: (benefit(each.plan), -disturbed(each.plan))), False


_MOST_SHARES = 8
"""Most evictions of which it is tried how many of the disturbed pods they should be."""


def _as_proved(result: Result, asked: Plan) -> Result:
    """Say of a plan only what is proved of the question that another one answers."""
    rows, of_asked = [], {row.name: row for row in asked.objectives}
    for row in result.plan.objectives:
        known = of_asked.get(row.name)  # where nobody is evicted tiers may be others
        bound = None if known is None or known.given else known.bound
        proved_by = "none" if known is None or bound is None else known.proved_by
        status = "UNKNOWN" if bound is None else "OPTIMAL" if bound == row.value else "FEASIBLE"
        update = {"bound": bound, "proved_by": proved_by, "status": status, "given": ()}
        rows.append(row.model_copy(update=update))
    solver = result.plan.solver
    if solver.status == "OPTIMAL" and any(row.status != "OPTIMAL" for row in rows):
        solver = solver.model_copy(update={"status": "FEASIBLE"})
    plan = result.plan.model_copy(update={"objectives": tuple(rows), "solver": solver})
    return replace(result, plan=identified(plan))


def _told(result: Result, texts: tuple[str, ...]) -> Result:
    """Add to what the reader of the plan should know."""
    if not texts:
        return result
    plan = result.plan.model_copy(update={"warnings": (*texts, *result.plan.warnings)})
    return replace(result, plan=identified(plan))


def _decimal(value: Fraction) -> str:
    return f"{float(value):.3f}".rstrip("0").rstrip(".")
