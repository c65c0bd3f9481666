"""Explain one job: verdict, nodes, conflict, remedies; what is known so far at every moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches

from kantopt.clock import Deadline
from kantopt.errors import UsageError
from kantopt.planning.explain.conflict import Wording, classes_of
from kantopt.planning.explain.nodes import histogram, untolerated_taint
from kantopt.planning.explain.remedies.find import find_remedies
from kantopt.planning.explain.remedies.workshop import Workshop
from kantopt.planning.explain.steps import steps_of
from kantopt.planning.explain.trial import alone
from kantopt.planning.explain.verdict import Ladder, climb, question_name
from kantopt.planning.question import Question
from kantopt.problem.focus import focused, pending_podsets, wanted_pods
from kantopt.problem.instance import Instance
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.dump import canonical_digest
from kantopt.schema.explanation import Conflict, Explanation, Verdict
from kantopt.schema.model import Model
from kantopt.schema.plan import SnapshotRef
from kantopt.search.explain.conflict import conflict_of
from kantopt.search.explain.places import Places, Survey

Tell = Callable[[Explanation], None]


def find_job(instance: Instance, name: str) -> int:
    """Index of a job by NAMESPACE/NAME, or by NAME alone where one namespace has it.

    Raises
    ------
    UsageError
        If there is no such job, or several.
    """
    names = [job.name for job in instance.jobs]
    found = [j for j, full in enumerate(names) if name in (full, full.split("/", 1)[1])]
    exact = [j for j in found if names[j] == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        several = ", ".join(names[j] for j in found)
        raise UsageError(f"--job: found {name}, expected NAMESPACE/NAME, one of {several}")
    close = get_close_matches(name, [*names, *(full.split("/", 1)[1] for full in names)], n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    expected = "the name of a job that the input has" if names else "a job; the input has none"
    raise UsageError(f"--job: found {name}, expected {expected}{hint}")


def explain(
    question: Question, model: Model, name: str, deadline: Deadline
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

    Raises
    ------
    UsageError
        If there is no such job.
    BadDataError
        If the documents contradict each other.
    """
    instance = question.instance(model)
    j = find_job(instance, name)
    told = _first(question, instance, j)
    question = alone(question, told.job)
    instance = question.instance(model)
    j = instance.job_index[told.job]
    if not told.pending_pods:
        yield told
        return
    asked = focused(instance, j)
    survey = Survey(asked, untolerated_taint(question, instance))
    places = [survey.places(s, pods) for s, pods in wanted_pods(asked, j).items()]
    nodes = tuple(histogram(asked, item) for item in places)
    told = told.model_copy(update={"pod_sets": nodes})
    yield told
    ladder = None
    for ladder in climb(asked, j, deadline):
        told = told.model_copy(
            update={
                "verdict": ladder.verdict,
                "plan": steps_of(question, instance, ladder.decision),
            }
        )
        yield told
    if ladder is not None and ladder.refused is not None:
        conflict = _conflict(ladder, asked, j, places[0], deadline)
        if conflict is not None:
            told = told.model_copy(update={"conflict": conflict})
            yield told
    if ladder is not None and ladder.verdict.status != "FITS_NOW":
        workshop = Workshop(question, model, asked, j, places, ladder, deadline)
        for remedies in find_remedies(workshop):
            told = told.model_copy(update={"remedies": remedies})
            yield told


def _conflict(
    ladder: Ladder, asked: Instance, j: int, places: Places, deadline: Deadline
) -> Conflict | None:
    """Explain the most generous question that was answered with no."""
    assert ladder.refused is not None
    empty = ladder.verdict.status == "NEVER"
    classes = classes_of(places)
    class_of = {n: c for c, nodes in enumerate(classes) for n in nodes}
    found = conflict_of(ladder.refused, j, deadline, empty=empty, node_class=lambda n: class_of[n])
    if found is None:
        return None
    words = Wording(ladder.refused, j, found, places, asked.model.limits, empty=empty)
    return words.document("on an empty cluster" if empty else question_name(ladder.refused))


def _first(question: Question, instance: Instance, j: int) -> Explanation:
    job = instance.jobs[j]
    pending = sum(podset.count for podset in pending_podsets(instance, j))
    total = sum(instance.podsets[s].count for s in job.podsets)
    running = total - pending
    if pending:
        verdict = Verdict(status="OPEN", message="OPEN: not examined yet.", proved=False)
    else:
        pods = "its 1 pod runs" if total == 1 else f"all its {total} pods run"
        verdict = Verdict(status="RUNS", message=f"RUNS: {pods}.", proved=True)
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
        running_pods=running,
        verdict=verdict,
        notes=question.notes,
    )
