"""What is to be certified, written as a plan: one that is given, or what became of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from kantopt.planning.arrivals import judge_arrivals
from kantopt.planning.between import Between
from kantopt.planning.document import Answer, plan_document
from kantopt.planning.judge import judge_plan, verdict_of
from kantopt.planning.later import placement_in
from kantopt.planning.left import left_pending
from kantopt.planning.question import Question
from kantopt.planning.since import Since
from kantopt.planning.tiers import tier_rows
from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema import plan as docs
from kantopt.schema.certificate import JudgedAs
from kantopt.schema.model import Model
from kantopt.schema.plan import Plan
from kantopt.schema.reports import Verdict
from kantopt.search.difference import Numbering, difference
from kantopt.search.sequence import sequence
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check_standing


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan to be certified and what the judge says of it."""

    plan: Plan
    given: JudgedAs
    verdict: Verdict
    notes: tuple[str, ...]


def judged_plan(
    question: Question, model: Model, later: Question | Between | Since | None
) -> Judged:
    """Return what is to be certified.

    That is the plan among the documents; else what brought the cluster to a later snapshot; else
    to do nothing, which judges the snapshot's own placement. Of two dumps it is what came of them.

    Raises
    ------
    BadDataError
        If the later snapshot has pods of the question on nodes that it does not have.
    """
    if isinstance(later, Between):
        return _judged_between(later, model)
    if isinstance(later, Since):
        question, later = later.question, later.later
    notes: tuple[str, ...] = ()
    given: JudgedAs = "plan"
    plan = question.plan
    if plan is None:
        instance = question.instance(model)
        placement, given = instance.current, "snapshot as it stands"
        if later is not None:
            read = placement_in(instance, question, later)
            placement, given, notes = read.placement, "later snapshot", (*later.notes, *read.notes)
        waves = sequence(instance, placement)
        if waves is None:
            waves = _at_once(instance, placement)
            text = "no order of its actions was found in which every step is legal"
            notes = (*notes, f"{text}: judged as done in one step")
        plan = _written(question, instance, placement, waves)
    return Judged(plan, given, judge_plan(question, plan, model, "the plan"), notes)


def _judged_between(between: Between, model: Model) -> Judged:
    """Judge what came of two dumps: a state, not a way to it."""
    found, notes = judge_arrivals(between, model)
    question = between.question
    instance = question.instance(model)
    placement = between.decided.placement(instance)
    plan = _written(question, instance, placement, _at_once(instance, placement))
    findings = [
        docs.Standing(rule=fault.rule, subject=fault.subject, message=fault.message)
        for fault in found
    ]
    verdict = verdict_of("plan", findings, (), question.notes)
    return Judged(plan, "later snapshot", verdict, tuple(notes))


def _at_once(instance: Instance, placement: Placement) -> tuple[Wave, ...]:
    """All that differs in one wave: the judge says what is wrong with that."""
    changes = difference(instance, placement)
    every = [*changes.evictions, *changes.moves, *changes.binds]
    if not every:
        return ()
    return (Wave(1, (), Numbering().actions(every)),)


def _written(
    question: Question, instance: Instance, placement: Placement, waves: tuple[Wave, ...]
) -> Plan:
    """Write a placement down as a plan that claims nothing but its values."""
    tiers = tiers_of(instance)
    before = measure(instance, instance.current, tiers)
    answer = Answer(
        placement=placement,
        waves=waves,
        tiers=tier_rows(tiers, before, measure(instance, placement, tiers), None),
        solver=docs.Solver(
            engine="fast",
            strategy="",
            found_by="none",
            status="UNKNOWN",
            seed=0,
            deterministic=False,
            reproducible=False,
        ),
        unplaced=left_pending(
            instance, placement, lambda _: ("not examined", "left pending by what is judged")
        ),
        standing=tuple(check_standing(instance)),
        warnings=(),
    )
    return plan_document(question, instance, answer)
