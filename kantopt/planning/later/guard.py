"""What is left of a plan on today's cluster: the longest part of it that is still legal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kantopt.errors import BadDataError, Problem
from kantopt.planning.document.actions import action_of
from kantopt.planning.document.identity import identified
from kantopt.planning.document.judge import spared_victims
from kantopt.planning.document.left import left_pending
from kantopt.planning.document.tiers import rows_of
from kantopt.planning.document.write import Answer, plan_document
from kantopt.planning.drained import drain_words
from kantopt.planning.later.needed import without_needless
from kantopt.planning.later.prefix import LegalPrefix, Outline, Steps, longest_legal_prefix
from kantopt.planning.later.still_there import StillThere
from kantopt.planning.question import Import, Question, question_of
from kantopt.problem.actions import Action, without_leftovers
from kantopt.problem.difference import apply
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.actions import actions_of, in_waves
from kantopt.schema.answers.plan import CutStep, Plan, Standing
from kantopt.schema.dump import canonical_digest
from kantopt.schema.extends import resolve_model
from kantopt.schema.files import load_raw
from kantopt.schema.hints import plural
from kantopt.schema.jobs import Job
from kantopt.verify.rules import check_standing

WITHOUT_NEED = "evicted without need, though legal"
"""How warnings of what is left begin that name a victim which could stay."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """What became of a plan."""

    given: Plan
    plan: Plan
    """What is left, for today's snapshot; the plan itself if that is the one it was made for."""
    done: tuple[str, ...]
    """Ids of the steps that have been taken already."""
    cut: tuple[CutStep, ...]
    """Steps that are not legal any more, or wait for one that is not."""
    spared: tuple[Standing, ...]
    """Victims of what is left that could stay today, though evicting them is legal."""


def plan_and_cluster(
    paths: Sequence[str], against: Sequence[str], how: Import
) -> tuple[Question, Plan]:
    """Read a plan, and the cluster that other files show as a question to judge it by.

    Jobs of lists that are in the cluster by now count as it shows them.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If a file cannot be read, a document cannot be used, or there is not one plan and one
        cluster.
    """
    question = question_of(load_raw([*against, *paths]), replace(how, since=True))
    if question.plan is None:
        raise BadDataError([Problem(paths[0], "", "no plan", "one Plan among the files")])
    return question, question.plan


def guard(question: Question, plan: Plan, label: str) -> Guarded:
    """Cut a plan to the longest part that is legal on a cluster that may have changed.

    A step stays if all pods and nodes that it names are still the ones it means, if it breaks no
    rule after the steps that stay, and if all that its wave waits for stays or has been done. Three
    kinds of steps go and hold nothing up: those whose pods are no longer where they would be taken
    from; evictions that nothing needs any more; and moves which nothing needs any more and for
    which a step waits that is cut or, in a plan with goals, which were to leave a node, or a domain
    that is to be empty, together with a step that is cut. A stop-over whose pods do not go on is an
    ordinary move.

    Parameters
    ----------
    question
        Today's cluster, with the pending jobs that the plan knows and the cluster need not.
    plan
        The plan.
    label
        Name of the plan in errors.

    Raises
    ------
    BadDataError
        If the plan's model cannot be used on this cluster.
    """
    question = replace(question, pending=tuple(_pending(question, plan)))
    known = {job.full_name for job in question.jobs}
    model = resolve_model(plan.model, label)
    required = tuple(name for name in model.required if name in known)
    nodes = {node.name for node in question.snapshot.nodes}
    drain = tuple(name for name in model.drain if name in nodes)  # others are away, as was wanted
    # What was before the plan is long gone.
    update = {"required": required, "last_plan": (), "drain": drain}
    instance = question.instance(model.model_copy(update=update))
    there = StillThere(question, plan)
    steps = steps_today(instance, plan, there)
    outline = outline_of(plan)
    prefix = longest_legal_prefix(instance, outline, steps)
    gains = any(goal.gain > 0 for goal in plan.goals)
    while gains or not plan.goals:  # moves that gain nothing anyhow have their purpose still
        left = {*_to_leave(instance, plan, prefix)}
        before, prefix = prefix, without_needless(instance, outline, steps, prefix, left)
        if not gains or prefix.causes.keys() == before.causes.keys():
            break  # else what others were to gain together with moves that went is lost as well
    done = [a for wave in plan.waves for a in wave.actions if a in steps.done]
    cut = tuple(_cut_steps(plan, prefix))
    wanted = without_leftovers(apply(instance.current, prefix.waves), prefix.waves)
    spared = tuple(spared_victims(instance, wanted))
    today = canonical_digest(question.snapshot)
    same = today == plan.metadata.snapshot.digest and _waiting(question, instance) == [
        job for job in plan.jobs if job.waiting
    ]
    if not cut and not done and same:
        return Guarded(plan, plan, (), (), spared)
    rest = _rest(question, instance, plan, prefix, cut, there, spared)
    return Guarded(plan, rest, tuple(done), cut, spared)


def outline_of(plan: Plan) -> tuple[Outline, ...]:
    """Return the waves of a plan, each with those it waits for and the ids of its steps."""
    return tuple((wave.id, wave.after, wave.actions) for wave in plan.waves)


def steps_today(instance: Instance, plan: Plan, there: StillThere) -> Steps:
    """Find out which steps name what is still there, before any rule is looked at."""
    actions: dict[str, Action] = {}
    done: list[str] = []
    causes: dict[str, tuple[str, str]] = {}
    moot: set[str] = set()
    for _, item in in_waves(plan):
        identity = item.id
        if there.is_done(item):
            done.append(identity)
            continue
        missing = there.why_not(instance, item)
        if missing is None:
            actions[identity] = action_of(instance, there.named_today(item))
        else:
            causes[identity] = (missing.word, missing.message)
            moot |= {identity} if missing.moot else set()
    return Steps(actions, frozenset(done), causes, frozenset(moot))


def _pending(question: Question, plan: Plan) -> Iterator[Job]:
    """Yield the pending jobs; one that only the plan knows, and that was there, is gone."""
    embedded = {id(job) for job in plan.jobs}
    read_as = plan.metadata.read_as
    imported = question.imported and read_as is not None and read_as.source != "kantopt"
    for job in question.pending:
        pods = (pod for podset in job.pod_sets for pod in podset.pods)
        was_there = any(pod.uid for pod in pods) or (imported and bool(job.uid))
        if id(job) not in embedded or not was_there:
            yield job


def _to_leave(instance: Instance, plan: Plan, prefix: LegalPrefix) -> Iterator[int]:
    """Yield the nodes that pods of cut steps were to leave for the goals of a plan."""
    index = {node.name: node.index for node in instance.nodes}
    names = [(move.id, move.from_node) for move in plan.moves]
    names += [(eviction.id, eviction.node) for eviction in plan.evictions]
    for identity, name in names if plan.goals else ():
        if identity in prefix.causes and name in index:
            yield index[name]


def _waiting(question: Question, instance: Instance) -> list[Job]:
    """Return the jobs that have pods that wait today, of those that are asked about."""
    documents = zip(instance.jobs, question.documents(instance), strict=True)
    return [
        document
        for job, document in documents
        if any(not instance.podsets[s].running for s in job.podsets)
    ]


def _cut_steps(plan: Plan, prefix: LegalPrefix) -> Iterator[CutStep]:
    for wave, item in in_waves(plan):
        if item.id in prefix.causes:
            rule, message = prefix.causes[item.id]
            yield CutStep(
                id=item.id,
                wave=wave,
                job=item.job,
                pod_set=item.pod_set,
                rule=rule,
                message=message,
            )


def _rest(
    question: Question,
    instance: Instance,
    plan: Plan,
    prefix: LegalPrefix,
    cut: tuple[CutStep, ...],
    there: StillThere,
    spared: Sequence[Standing],
) -> Plan:
    """Write down what is left, with the figures that are true of it today."""
    final = apply(instance.current, prefix.waves)
    rows = rows_of(instance, tiers_of(instance), without_leftovers(final, prefix.waves))
    warnings = [*question.notes]
    if cut:
        steps = plural(len(cut), "step")
        warnings.insert(
            0, f"cut from the plan {plan.metadata.plan_id}: {steps} can be taken no more"
        )
    warnings += [f"{WITHOUT_NEED}: {each.subject} {each.message}" for each in spared]
    told = {left.job: (left.rule, left.message) for left in plan.unplaced}
    told |= {step.job: (step.rule, step.message) for step in cut}
    unknown = ("not examined", "the plan does not know of it")
    answer = Answer(
        placement=final,
        waves=prefix.waves,
        tiers=rows,
        solver=plan.solver.model_copy(update={"status": "FEASIBLE", "reproducible": False}),
        unplaced=left_pending(instance, final, lambda j: told.get(instance.jobs[j].name, unknown)),
        standing=tuple(check_standing(instance)),
        warnings=(*warnings, *drain_words(instance, final)),
    )
    named = {item.id: there.today(item) for item in actions_of(plan).values()}
    document = plan_document(question, instance, answer, named)
    metadata = document.metadata.model_copy(update={"cut_from": plan.metadata.plan_id})
    return identified(document.model_copy(update={"metadata": metadata, "cut": cut}))
