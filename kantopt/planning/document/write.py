"""From an answer to the plan document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kantopt.planning.document.claims import as_standing
from kantopt.planning.document.goals import goal_rows
from kantopt.planning.document.identity import identified, refs_of, snapshot_ref
from kantopt.planning.document.left import held_back, no_less_important
from kantopt.planning.document.timing import timed
from kantopt.planning.failing import bears_of
from kantopt.planning.question import Question
from kantopt.planning.queue_victims import beyond
from kantopt.problem.actions import Action, Wave, without_leftovers
from kantopt.problem.chosen import asked_for, running_only
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.memory import moved_bytes
from kantopt.problem.not_modelled import count_left
from kantopt.problem.placement import Placement
from kantopt.schema.answers import plan as docs
from kantopt.schema.answers.actions import summary_of
from kantopt.schema.answers.cascade import Cascade
from kantopt.schema.answers.explanation import Steps
from kantopt.schema.answers.left import NotModelled
from kantopt.schema.base import API_VERSION
from kantopt.schema.garbage import kept
from kantopt.schema.jobs import PodRef
from kantopt.schema.model import Model
from kantopt.verify.step import Step, Violation
from kantopt.verify.victims.ending import for_good
from kantopt.verify.victims.preemptors import Preemptors, preemptors_of
from kantopt.version import __version__

_NOBODY: Mapping[str, tuple[PodRef, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Answer:
    """What planning ends with, before it is written down."""

    placement: Placement
    waves: tuple[Wave, ...]
    tiers: tuple[docs.Tier, ...]
    solver: docs.Solver
    unplaced: tuple[docs.Unplaced, ...]
    standing: tuple[Violation, ...]
    warnings: tuple[str, ...]
    cascade: Cascade | None = None
    """What the victims would do next; ``None`` if there are none."""


@kept()
def plan_document(
    question: Question,
    instance: Instance,
    answer: Answer,
    named: Mapping[str, tuple[PodRef, ...]] = _NOBODY,
) -> docs.Plan:
    """Write an answer down, with the specs of the jobs that are pending or acted on.

    ``named`` gives the pods of actions that mean certain ones, by id; others get any that fit.
    """
    assignments, evictions, moves = documented_actions(
        question, instance, answer.placement, answer.waves, named
    )
    acted = {instance.podsets[a.podset].job for wave in answer.waves for a in wave.actions}
    nodes, budgets = refs_of(question.snapshot, assignments, evictions, moves)
    no_turn = question.spared(instance.model).no_turn
    plan = docs.Plan(
        api_version=API_VERSION,
        kind="Plan",
        metadata=docs.PlanMetadata(
            name=question.snapshot.metadata.name,
            plan_id="",
            kantopt_version=__version__,
            snapshot=snapshot_ref(question),
            read_as=question.read_as,
        ),
        summary=summary_of(assignments, evictions, moves, answer.unplaced),
        solver=answer.solver,
        objectives=answer.tiers,
        goals=goal_rows(instance, answer.placement),
        assignments=assignments,
        evictions=evictions,
        moves=moves,
        waves=_documented_waves(answer.waves),
        nodes=nodes,
        budgets=budgets,
        unplaced=tuple(
            item.model_copy(
                update={
                    "beyond": beyond(question.snapshot, item.job),
                    "no_turn": item.job in no_turn,
                }
            )
            for item in answer.unplaced
        ),
        not_modelled=_not_modelled(question, instance.model),
        left_aside=no_less_important(question, instance),
        held_back=held_back(question, instance.model),
        cascade=answer.cascade,
        pre_existing=tuple(map(as_standing, answer.standing)),
        warnings=answer.warnings,
        model=instance.model,
        jobs=tuple(
            job
            for j, job in enumerate(question.documents(instance))
            if j in acted or any(not instance.podsets[s].running for s in instance.jobs[j].podsets)
        ),
    )
    return identified(timed(plan, question.snapshot.metadata.captured_at))


def documented_actions(
    question: Question,
    instance: Instance,
    placement: Placement,
    waves: Sequence[Wave],
    named: Mapping[str, tuple[PodRef, ...]] = _NOBODY,
) -> tuple[tuple[docs.Binding, ...], tuple[docs.Eviction, ...], tuple[docs.Move, ...]]:
    """Write the actions of some waves down, with the names of the pods they act on."""
    asked = without_leftovers(placement, waves)
    step = Step(instance, instance.current, asked)
    preemptors, over = preemptors_of(step), for_good(step, bears_of(question, instance))
    pods = _Pods(question, instance, named)
    assignments, evictions, moves = [], [], []
    for action in (action for wave in waves for action in wave.actions):
        if action.kind == "bind":
            assignments.append(_binding(instance, action, pods))
        elif action.kind == "evict":
            evictions.append(_eviction(instance, action, pods, preemptors, over))
        else:
            moves.append(_move(instance, action, pods))
    return tuple(assignments), tuple(evictions), tuple(moves)


def _not_modelled(question: Question, model: Model) -> tuple[NotModelled, ...]:
    """Count the pods that the plan says nothing of, and those that it takes something for."""
    asked = (job for job in question.jobs if asked_for(job, model.pending))
    others = (running_only(job) for job in question.jobs if not asked_for(job, model.pending))
    jobs = (*asked, *(job for job in others if job is not None))
    found = count_left(jobs, model.assume)
    return tuple(left for left in found if left.pending or left.running)


class _Pods:
    """Hands out the pods of the documents, each at most once."""

    def __init__(
        self, question: Question, instance: Instance, named: Mapping[str, tuple[PodRef, ...]]
    ) -> None:
        self._named = named
        self._documents = question.documents(instance)
        self._instance = instance
        self._left: dict[tuple[int, Spot | None], list[PodRef]] = {}

    def take(self, action: Action) -> tuple[PodRef, ...]:
        """Take the pods that an action means: as many as are known by name."""
        if action.id in self._named:
            return self._named[action.id]
        left = self._there(action.podset, action.source)
        taken = tuple(left[: action.pods])
        del left[: action.pods]
        return taken

    def stop_over(self, s: int, spot: Spot, pods: Sequence[PodRef]) -> None:
        """Note that pods came to a spot under the name that they had."""
        self._there(s, spot)[:0] = pods

    def _there(self, s: int, spot: Spot | None) -> list[PodRef]:
        """Return who is left at a spot, to be changed."""
        key = (s, spot)
        if key not in self._left:
            self._left[key] = list(self._known(s, spot))
        return self._left[key]

    def _known(self, s: int, spot: Spot | None) -> Sequence[PodRef]:
        podset = self._instance.podsets[s]
        podsets = self._documents[podset.job].pod_sets
        document = next(document for document in podsets if document.name == podset.name)
        if spot is None:
            return document.pods
        node = self._instance.nodes[spot.node].name
        return [
            pod
            for assignment in document.assignments
            if assignment.node == node and tuple(sorted(assignment.devices)) == spot.devices
            for pod in assignment.pods
        ]


def _spot(spot: Spot | None) -> Spot:
    assert spot is not None
    return spot


def _binding(instance: Instance, action: Action, pods: _Pods) -> docs.Binding:
    target = _spot(action.target)
    return docs.Binding(
        id=action.id,
        job=instance.job_of(action.podset).name,
        pod_set=instance.podsets[action.podset].name,
        node=instance.nodes[target.node].name,
        devices=target.devices,
        count=action.pods,
        pods=pods.take(action),
        leftover=action.leftover,
    )


def _eviction(
    instance: Instance,
    action: Action,
    pods: _Pods,
    preemptors: Preemptors,
    over: frozenset[int],
) -> docs.Eviction:
    source, job = _spot(action.source), instance.job_of(action.podset)
    beneficiary = preemptors.of(action.podset, source)
    return docs.Eviction(
        id=action.id,
        job=job.name,
        pod_set=instance.podsets[action.podset].name,
        node=instance.nodes[source.node].name,
        devices=source.devices,
        count=action.pods,
        pods=pods.take(action),
        priority=job.priority,
        for_job=None if beneficiary is None else beneficiary.name,
        for_good=job.index in over,
        budgets=_budgets(instance, action.podset),
    )


def _move(instance: Instance, action: Action, pods: _Pods) -> docs.Move:
    source, target = _spot(action.source), _spot(action.target)
    job = instance.job_of(action.podset)
    named = pods.take(action)
    if action.stopover and job.move_mode == "live":
        pods.stop_over(action.podset, target, named)  # after a restart they have other names
    return docs.Move(
        id=action.id,
        job=job.name,
        pod_set=instance.podsets[action.podset].name,
        from_node=instance.nodes[source.node].name,
        from_devices=source.devices,
        to_node=instance.nodes[target.node].name,
        to_devices=target.devices,
        count=action.pods,
        pods=named,
        mode=job.move_mode,
        memory_bytes=moved_bytes(instance, action.podset, action.pods),
        stopover=action.stopover,
        budgets=_budgets(instance, action.podset) if job.move_mode == "restart" else (),
    )


def _budgets(instance: Instance, s: int) -> tuple[str, ...]:
    return tuple(instance.budgets[b].name for b in instance.podsets[s].budgets)


def steps_of(
    question: Question, instance: Instance, placement: Placement | None, waves: Sequence[Wave]
) -> Steps | None:
    """Write down how a placement is reached; ``None`` if there is none, or nothing to do."""
    if placement is None or not waves:
        return None
    binds, evictions, moves = documented_actions(question, instance, placement, waves)
    summary = summary_of(binds, evictions, moves, ())
    return Steps(
        placed_pods=summary.placed_pods,
        evicted_pods=summary.evicted_pods,
        moved_pods=summary.moved_pods,
        assignments=binds,
        evictions=evictions,
        moves=moves,
        waves=_documented_waves(waves),
    )


def _documented_waves(waves: Sequence[Wave]) -> tuple[docs.Wave, ...]:
    return tuple(
        docs.Wave(id=wave.id, after=wave.after, actions=tuple(a.id for a in wave.actions))
        for wave in waves
    )
