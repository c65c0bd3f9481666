"""Explain one job: verdict, nodes, conflict, remedies; what is known so far at every moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from kantopt.clock import Deadline
from kantopt.errors import UsageError
from kantopt.planning.beside import command
from kantopt.planning.document.left import left_aside_from
from kantopt.planning.document.write import steps_of
from kantopt.planning.doubts import concerning
from kantopt.planning.explain.conflict import Wording, classes_of
from kantopt.planning.explain.nodes import histogram
from kantopt.planning.explain.remedies.others import (
    as_planned,
    lift_limits,
    raise_priority,
    wait_for_ends,
)
from kantopt.planning.explain.remedies.supply import add_nodes, raise_quota
from kantopt.planning.explain.remedies.wishes import (
    admit_nodes,
    fewer_pods,
    relax_topology,
    smaller_requests,
)
from kantopt.planning.explain.remedies.workshop import Ranked, Workshop
from kantopt.planning.explain.running import Whereabouts, nominated_pods, runs_message, standing
from kantopt.planning.explain.spared import spared_words, unproved
from kantopt.planning.explain.together import FITS, Together, beside_others
from kantopt.planning.explain.trial import alone
from kantopt.planning.explain.verdict import Ladder, climb, question_name
from kantopt.planning.explain.what_if import Side, side_of, what_if
from kantopt.planning.failing import failing_jobs
from kantopt.planning.question import Question
from kantopt.planning.queue_victims import beyond
from kantopt.planning.wanted import find_job
from kantopt.problem.chosen import asked_for
from kantopt.problem.derived.focus import focused, pending_podsets, wanted_pods
from kantopt.problem.instance import Instance
from kantopt.problem.not_modelled import left_lines, why_not_placed
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.explanation import Conflict, Explanation, Verdict
from kantopt.schema.answers.left import aside_words
from kantopt.schema.answers.plan import SnapshotRef
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.by_kueue import waits_for_kueue
from kantopt.schema.dump import canonical_digest
from kantopt.schema.model import Model
from kantopt.search.explain.conflict import conflict_of
from kantopt.search.explain.decide import Decision
from kantopt.search.explain.places import Places, Survey
from kantopt.shares import LESS_CHANGE
from kantopt.verify.metrics import measure

_STRICT = (
    "the model says priority: {priority}, under which a plan may evict jobs of any priority if "
    "more are placed in all; of one job alone that says nothing, so here evictions are allowed "
    "only for a more important job (priority: strict)"
)


def explain(
    question: Question, model: Model, name: str, deadline: Deadline, edits: Sequence[str] = ()
) -> Iterator[Explanation]:
    """Explain where a job is or why it is nowhere; yield what is known, more each time.

    Parameters
    ----------
    question
        The documents.
    model
        Rules and limits, with ``extends`` resolved.
    name
        The job, NAMESPACE/NAME.
    deadline
        When to end; what is not found out by then is said to be open.
    edits
        Changes to try out and to compare with things as they are.

    Raises
    ------
    UsageError
        If there is no such job, or a change cannot be made.
    BadDataError
        If the documents contradict each other.
    """
    name = find_job(question, name)
    own = alone(question, name)
    together = Together(question, model, name, deadline)
    model = model.model_copy(update={"required": ()})  # asked about is this job, not others
    instance = own.instance(model)
    _refuse_if_left_out(own, instance, name)
    told = _first(own, instance, instance.job_index[name])
    parts = _pending if told.pending_pods else _runs
    yield from parts(together, instance, told, deadline, tuple(edits))


def _refuse_if_left_out(question: Question, instance: Instance, name: str) -> None:
    """Refuse a job of which no pending pod is planned: the model leaves it aside, or cannot."""
    document = next(job for job in question.jobs if job.full_name == name)
    if document.waiting and not asked_for(document, instance.model.pending):
        expected = f"a job that is asked about: {', '.join(instance.model.pending or ())}"
        raise UsageError(f"explain: found {name}, expected {expected}")
    words = why_not_placed(document, instance.model.assume)
    j = instance.job_index.get(name)
    planned = () if j is None else instance.jobs[j].podsets
    if words and all(instance.podsets[s].running for s in planned):
        raise UsageError(f"explain: {name} is left out: {words}")


def _runs(
    together: Together,
    instance: Instance,
    told: Explanation,
    deadline: Deadline,
    edits: tuple[str, ...],
) -> Iterator[Explanation]:
    """Explain a job of which all pods run."""
    if edits:
        before = Side(instance, told.verdict, (), Decision(), None)
        change = what_if(together.question, together.model, told.job, edits, before, deadline)
        told = told.model_copy(update={"what_if": change})
    yield told
    question = alone(together.question, told.job)
    document = question.documents(instance)[instance.job_index[told.job]]
    whereabouts = Whereabouts(question, instance.model, told.job, deadline)
    for parts in whereabouts.elsewhere():
        assumed = instance.model.assume
        message = runs_message(document, parts, sure=whereabouts.sure, assumed=assumed)
        verdict = told.verdict.model_copy(update={"message": message})
        told = told.model_copy(update={"elsewhere": parts, "verdict": verdict})
        yield told


def _pending(
    together: Together,
    instance: Instance,
    told: Explanation,
    deadline: Deadline,
    edits: tuple[str, ...],
) -> Iterator[Explanation]:
    """Explain a job of which pods are pending."""
    question, model = alone(together.question, told.job), instance.model
    j = instance.job_index[told.job]
    asked = focused(instance, j)
    survey = Survey(asked)
    places = [survey.places(s, pods) for s, pods in wanted_pods(asked, j).items()]
    nodes = tuple(histogram(asked, item) for item in places)
    notes = told.notes
    if not instance.strict:
        notes = (*notes, _STRICT.format(priority=instance.model.rules.priority))
    aside = left_aside_from(together.question, model, instance.jobs[j].priority)
    if aside is not None:
        notes = (*notes, aside_words(aside))
    others = together.unasked.others
    told = told.model_copy(update={"pod_sets": nodes, "notes": notes, "others_pending": others})
    yield told
    ladder = None
    for ladder in climb(asked, j, deadline):
        ladder = replace(ladder, verdict=unproved(ladder.verdict, question, told.job))
        plan = steps_of(question, instance, ladder.decision.placement, ladder.decision.waves)
        verdict = beside_others(ladder.verdict, together.unasked)
        told = told.model_copy(update={"verdict": verdict, "plan": plan})
        yield told
    assert ladder is not None
    if (placement := ladder.decision.placement) is not None:
        against = filter(None, (_against(instance, ladder),))
        notes = (*told.notes, *against, *failing_jobs(question, instance, placement))
        told = told.model_copy(update={"notes": notes})
    fits = ladder.verdict.status in FITS
    if fits:
        told = _beside(told, ladder.verdict, together)
        yield told
    if edits:
        compared = replace(ladder, verdict=told.verdict)
        before = side_of(question, instance, compared, nodes)
        change = what_if(together.question, together.model, told.job, edits, before, deadline)
        told = told.model_copy(update={"what_if": change})
        yield told
    if ladder.refused is not None and asked.nodes:
        conflict = _conflict(ladder, question, asked, j, places[0], deadline)
        if conflict is not None:
            told = told.model_copy(update={"conflict": conflict})
            yield told
    workshop = Workshop(question, model, asked, j, places, ladder, deadline)
    found: dict[str, Ranked] = {}
    if ladder.verdict.status != "FITS_NOW":
        for ranked in _looked(workshop, [partial(look, workshop) for look in _LOOKS]):
            told = _noted(told, found, replace(ranked, remedy=together.opened(ranked.remedy)))
            yield told
    if not fits and ladder.verdict.status not in ("NEVER", "OPEN"):
        told = _beside(told, ladder.verdict, together)
        yield told
    for ranked in sorted(found.values(), key=lambda item: item.key):
        told = _noted(told, found, replace(ranked, remedy=together.tried(ranked.remedy)))
        yield told
    workshop.take(deadline.share(LESS_CHANGE))
    for ranked in _looked(workshop, workshop.later):
        known = found.get(ranked.remedy.edit)
        remedy = together.tried(ranked.remedy) if known is None else ranked.remedy
        if known is not None:
            same = {"together": known.remedy.together, "behind": known.remedy.behind}
            remedy = remedy.model_copy(update=same)
        told = _noted(told, found, replace(ranked, remedy=remedy))
        yield told


def _against(instance: Instance, ladder: Ladder) -> str:
    """Say that by the model it is better to leave the job pending than to disturb others for it."""
    placement = ladder.decision.placement
    if placement is None or ladder.verdict.status == "FITS_NOW":
        return ""
    for tier in tiers_of(instance):
        [before] = measure(instance, instance.current, (tier,))
        [after] = measure(instance, placement, (tier,))
        if after < before:
            return ""
        if after > before:
            name = tier.name.replace("priority=", "").replace("milli-GPU", "GPUs")
            order = f"in the model's order {name} comes before what it brings"
            return f"kantopt plan would not do this: {order}"
    return ""


def _beside(told: Explanation, alone: Verdict, together: Together) -> Explanation:
    """Hold the verdict about a job alone against a plan for all that waits."""
    found = together.found
    verdict = beside_others(alone, found)
    limits = together.model.limits
    note = found.note(told.job, limits, fits=alone.status in FITS)
    if found.placed is False and alone.status in FITS:
        note = f"to place it before others that wait: {command(limits, told.job)}"
    fewer = found.fewer(told.plan.placed_pods) if told.plan is not None else ""
    notes = (*told.notes, *filter(None, (note, fewer)))
    update = {"verdict": verdict, "notes": notes, "leftover": found.leftover}
    return told.model_copy(update=update)


def _conflict(
    ladder: Ladder,
    question: Question,
    asked: Instance,
    j: int,
    places: Places,
    deadline: Deadline,
) -> Conflict | None:
    """Explain the most generous question that was answered with no."""
    assert ladder.refused is not None
    empty = ladder.verdict.status == "NEVER"
    classes = classes_of(places)
    class_of = {n: c for c, nodes in enumerate(classes) for n in nodes}
    known = [p for p in (ladder.decision.placement, ladder.beyond) if p is not None]
    found = conflict_of(
        ladder.refused, j, deadline, empty=empty, node_class=lambda n: class_of[n], known=known
    )
    if found is None:
        return None
    name = asked.jobs[j].name
    words = Wording(
        ladder.refused,
        j,
        found,
        places,
        asked.model.limits,
        empty=empty,
        by_kueue=waits_for_kueue(question.documents(asked)[j])
        and any(item.job == name for item in question.snapshot.victims),
        spared=spared_words(question, name, asked.model),
        beyond=beyond(question.snapshot, name),
        tied=question.tied.get(name, ()),
    )
    return words.document("on an empty cluster" if empty else question_name(ladder.refused))


def _first(question: Question, instance: Instance, j: int) -> Explanation:
    job = instance.jobs[j]
    pending = sum(podset.count for podset in pending_podsets(instance, j))
    running = sum(instance.podsets[s].count for s in job.podsets) - pending
    document = question.documents(instance)[j]
    nominated = nominated_pods(document)
    if pending:
        verdict = Verdict(status="OPEN", message="OPEN: not examined yet.", proved=False)
    else:
        verdict = standing(document)
    metadata = question.snapshot.metadata
    return Explanation(
        api_version=API_VERSION,
        kind="Explanation",
        metadata=Metadata(name=metadata.name),
        snapshot=SnapshotRef(
            digest=canonical_digest(question.snapshot),
            name=metadata.name,
            captured_at=metadata.captured_at,
            resource_version=metadata.resource_version,
        ),
        job=job.name,
        priority=job.priority,
        pending_pods=pending,
        running_pods=running - nominated,
        nominated_pods=nominated,
        verdict=verdict,
        complete=True,
        notes=(
            *concerning(question.notes, document),
            *left_lines(question.jobs, instance.model.assume),
        ),
    )


_LOOKS: tuple[Callable[[Workshop], Iterator[Ranked]], ...] = (
    as_planned,
    raise_quota,
    lift_limits,
    relax_topology,
    admit_nodes,
    smaller_requests,
    fewer_pods,
    add_nodes,
    wait_for_ends,
    raise_priority,
)


def _looked(
    workshop: Workshop, looks: Iterable[Callable[[], Iterator[Ranked]]]
) -> Iterator[Ranked]:
    """Yield what one look after the other finds until the time is up."""
    for look in looks:
        if workshop.deadline.over():
            return
        for ranked in look():
            yield ranked
            if workshop.deadline.over():
                return


def _noted(told: Explanation, found: dict[str, Ranked], ranked: Ranked) -> Explanation:
    """Note a remedy, the smallest disruption first, instead of one that told less."""
    if ranked.instead is not None:
        del found[ranked.instead]
    found[ranked.remedy.edit] = ranked
    remedies = [item.remedy for item in sorted(found.values(), key=lambda item: item.key)]
    return told.model_copy(update={"remedies": tuple(remedies)})
