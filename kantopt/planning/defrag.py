"""Defragmentation: reach goals with the fewest moves, or go as far as some moves take it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from kantopt.clock import Deadline
from kantopt.planning.document.goals import benefit, disturbed
from kantopt.planning.document.identity import identified
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.news import Tell
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.planning.written_goals import drained, read_goals
from kantopt.problem.chosen import has_label
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
    wishes = read_goals(wish.goals, question.instance(model), question.jobs)
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

    Where the goals gain less per disturbed pod than they must, the
    limit of moves is lowered to what the gain is worth and the question asked again: what is left
    is the largest gain that is worth its moves, at last nothing at all.

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
    # Of the questions that follow one was answered last: not this one, perhaps.
    result = make_plan(question, model, options, _half(deadline), tell, solver, last)
    first, gained = result, benefit(result.plan)
    while disturbed(result.plan) > 0 and benefit(result.plan) < least * disturbed(result.plan):
        worth = max(benefit(result.plan), Fraction(0)) // least
        before = model.limits.moves
        most = worth if before is None else min(worth, before - 1)
        update = {"moves": most} if most > 0 else {"moves": 0, "evictions": 0}
        model = model.model_copy(update={"limits": model.limits.model_copy(update=update)})
        result = make_plan(question, model, options, _half(deadline), tell, None, last)
    if result is not first:
        pods = disturbed(first.plan)
        text = (
            f"a gain of {_decimal(gained)} for {pods} disturbed pods is less than the "
            f"{_decimal(least)} per pod that is asked for: fewer are moved"
        )
        result = _told(result, (text,))
    return _told(result, doubts)


def _half(deadline: Deadline) -> Deadline:
    """Leave as much time for asking again."""
    return deadline.share(DEFRAG_FIRST)


def _told(result: Result, texts: tuple[str, ...]) -> Result:
    """Add to what the reader of the plan should know."""
    if not texts:
        return result
    plan = result.plan.model_copy(update={"warnings": (*texts, *result.plan.warnings)})
    return replace(result, plan=identified(plan))


def _decimal(value: Fraction) -> str:
    return f"{float(value):.3f}".rstrip("0").rstrip(".")
