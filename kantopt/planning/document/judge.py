"""Is a plan a sound document, legal at every step, and true in what it says of itself?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.errors import BadDataError, Problem
from kantopt.planning.document.actions import waves_of
from kantopt.planning.document.claims import as_standing, false_claims
from kantopt.planning.document.figures import false_figures, false_standing
from kantopt.planning.document.named import false_jobs, false_names
from kantopt.planning.question import Import, Question, question_of
from kantopt.problem.actions import without_leftovers
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.plan import Plan, Standing
from kantopt.schema.answers.reports import Verdict
from kantopt.schema.base import API_VERSION
from kantopt.schema.consistency import check_documents
from kantopt.schema.dump import canonical_digest
from kantopt.schema.extends import load_model, resolve_model
from kantopt.schema.files import load_raw
from kantopt.schema.model import Model, Rule
from kantopt.schema.raw import RawDocument, is_foreign
from kantopt.schema.read_as import ReadAs
from kantopt.schema.validation import validate_all
from kantopt.verify.metrics.unplaced import required_never_placed
from kantopt.verify.replay import replay
from kantopt.verify.rules import check_standing
from kantopt.verify.step import Step, Violation
from kantopt.verify.victims.spared import could_be_spared


def judge(paths: Sequence[str], model: str | None = None, how: Import | None = None) -> Verdict:
    """Judge whatever the files hold.

    Parameters
    ----------
    paths
        Files in any order. With a snapshot and a plan, the plan is replayed and what it says is
        measured again; with a snapshot alone, what is wrong with it as it stands is listed;
        without a snapshot, only the documents themselves are checked.
    model
        Model to judge under; default: the one among the files, else the plan's own.
    how
        How Kubernetes objects are read.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If a file cannot be read or a document is not sound.
    """
    raws = load_raw(paths)
    if not any(is_foreign(r.data) or r.data.get("kind") == "ClusterSnapshot" for r in raws):
        return _judge_documents(raws)
    label = next((raw.label for raw in raws if raw.data.get("kind") == "Plan"), "")
    return judge_question(question_of(raws, how or Import()), model, label)


def judge_question(
    question: Question, model: str | None = None, label: str = "the plan"
) -> Verdict:
    """Judge the plan of a question, or its snapshot as it stands; as :func:`judge`."""
    if question.plan is None:
        instance = question.instance(_model(question, model) or load_model("mixed"))
        standing = check_standing(instance)
        note = "no plan among the files: the snapshot is judged as it stands"
        notes = (*question.notes, note)
        return verdict_of("snapshot", (), standing, notes, read_as=question.read_as)
    return judge_plan(question, question.plan, _model(question, model), label, sparing=True)


def verdict_of(
    judged: str,
    findings: Sequence[Standing],
    standing: Sequence[Violation],
    notes: Sequence[str],
    unchecked: Sequence[str] = (),
    certificate: Certificate | None = None,
    spared: Sequence[Standing] = (),
    read_as: ReadAs | None = None,
) -> Verdict:
    """Write a verdict down; of a certificate with what that says."""
    return Verdict.model_validate(
        {
            "api_version": API_VERSION,
            "kind": "Verdict",
            "judged": judged,
            "findings": tuple(findings),
            "could_be_spared": tuple(spared),
            "pre_existing": tuple(map(as_standing, standing)),
            "unchecked": tuple(unchecked),
            "notes": tuple(notes),
            "read_as": read_as,
            "certified": None if certificate is None else certificate.verdict,
            "certified_as": None if certificate is None else certificate.subject.judged,
        }
    )


def _judge_documents(raws: Sequence[RawDocument]) -> Verdict:
    pairs, problems = validate_all(raws)
    problems = problems or check_documents(pairs)
    if problems:
        raise BadDataError(problems)
    findings: list[Standing] = []
    for raw, document in pairs:
        if isinstance(document, Plan):
            findings += false_claims(document)
        elif isinstance(document, Model):
            resolve_model(document, raw.file)
    note = "no snapshot among the files: only the documents were judged"
    return verdict_of("documents", findings, (), (note,))


def _model(question: Question, name: str | None) -> Model | None:
    return question.model if name is None else load_model(name)


def judge_plan(
    question: Question, plan: Plan, model: Model | None, label: str, *, sparing: bool = False
) -> Verdict:
    """Judge a plan: its actions step by step under a model, what it says under its own.

    Parameters
    ----------
    question
        The documents that the plan belongs to.
    plan
        The plan.
    model
        The model to judge under; ``None`` is the plan's own.
    label
        Name of the plan in errors.
    sparing
        Whether to look for victims that could have stayed, which takes long on a large cluster.
    """
    own = resolve_model(plan.model, label)
    # Which pending jobs there are is for the plan's own model to say: another one judges it all.
    asked = own if model is None else model.model_copy(update={"pending": own.pending})
    own_instance = question.instance(own)
    instance = own_instance if asked == own else question.instance(asked)
    notes = list(question.notes)
    digest = canonical_digest(question.snapshot)
    if digest != plan.metadata.snapshot.digest:
        stated = plan.metadata.snapshot.digest
        notes.append(
            f"the plan was made for another snapshot: {stated} is stated, {digest} is given; "
            "it is judged on the one given"
        )
    if asked != own:
        notes.append(f"judged under the model {asked.metadata.name or '(unnamed)'}, not its own")
    standing = check_standing(instance)
    findings = [
        *false_claims(plan),
        *false_jobs(question, plan, same=digest == plan.metadata.snapshot.digest),
        *false_standing(plan, standing if asked == own else check_standing(own_instance)),
    ]
    waves, problems = waves_of(instance, plan, label)
    if problems:
        findings += [
            Standing(rule="actions", subject=problem.path, message=_found(problem))
            for problem in problems
        ]
        return verdict_of("plan", findings, standing, notes, read_as=question.read_as)
    violations, final = replay(instance, waves)
    asked_for = without_leftovers(final, waves)
    for violation in dict.fromkeys(violations):
        # A plan may miss what is required, unless it claims that nothing is better.
        if violation.rule == Rule.REQUIRED and plan.solver.status != "OPTIMAL":
            notes.append(f"{violation}, as the plan says")
        else:
            findings.append(as_standing(violation))
    findings += false_figures(question, own_instance, plan, final, asked_for)
    findings += false_names(question, plan)
    unchecked = tuple(unchecked_claims(own_instance, plan))
    spared = spared_victims(instance, asked_for) if sparing else ()
    return verdict_of(
        "plan", findings, standing, notes, unchecked, spared=spared, read_as=question.read_as
    )


def spared_victims(instance: Instance, final: Placement) -> list[Standing]:
    """Victims that could have stayed. Of a plan with other faults as well: it may be another's."""
    step = Step(instance, instance.current, final)
    found = dict.fromkeys((each.job.name, str(each)) for each in could_be_spared(step))
    return [
        Standing(rule=Rule.PRIORITY.value, subject=f"job {name}", message=text)
        for name, text in found
    ]


def _found(problem: Problem) -> str:
    return f"found {problem.found}, expected {problem.expected}"


def unchecked_claims(instance: Instance, plan: Plan) -> Iterator[str]:
    """Name each claim of a plan that rests on a search, as ``subject: amount``.

    Parameters
    ----------
    instance
        The question under the plan's own model.
    """
    for row in plan.objectives:
        if row.proved_by not in ("arithmetic", "none"):
            yield f"objective {row.name}: bound {row.bound}, by {row.proved_by}"
    if plan.solver.status == "INFEASIBLE" and not required_never_placed(instance):
        yield "solver.status: INFEASIBLE, a required job has no place"
    if plan.cascade is not None:
        end = "where it ends" if plan.cascade.complete else "as far as the time went"
        yield f"cascade: whom the victims would push out, {end}, by the fast path"
