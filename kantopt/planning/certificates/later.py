"""A later snapshot: where the pods of a question are in it, and what it does not know any more."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from kantopt.errors import BadDataError, Problem
from kantopt.planning.document.identity import running_pods
from kantopt.planning.later.successors import pods_of
from kantopt.planning.question import Question
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Role
from kantopt.problem.placement import Placement
from kantopt.schema.answers.history import Fate, History
from kantopt.schema.hints import first_of
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model
from kantopt.verify.step import Step
from kantopt.verify.victims.preemptors import preemptors_of

_Set = tuple[int, int]
"""Job and role."""


@dataclass(frozen=True, slots=True)
class Later:
    """A placement that was read from a later snapshot, and what could not be told from it."""

    placement: Placement
    notes: tuple[str, ...]


def placement_in(instance: Instance, question: Question, later: Question) -> Later:
    """Find the pods of a question in a later snapshot.

    Pods are known again by their names, else by the names of their job and pod set. What counts is
    how many pods of a role are where: running ones that are still there have stayed, others fill
    the remaining places, first those that ran before, then pending ones. Pods that are nowhere are
    evicted, or still pending.

    Raises
    ------
    BadDataError
        If pods of the question are on nodes that it does not have.
    """
    found, notes = _found(instance, question, later)
    podsets: list[dict[Spot, int]] = [{} for _ in instance.podsets]
    extra = 0
    for job in instance.jobs:
        for i, role in enumerate(job.roles):
            extra += _share_out(instance, role, found.get((job.index, i), Counter()), podsets)
    if extra:
        notes.append(f"{extra} pods beyond what their jobs ask for are left out")
    gone = sum(
        podset.count - sum(podsets[podset.index].values())
        for podset in instance.podsets
        if podset.running
    )
    if gone:
        notes.append(f"{gone} running pods are gone from the later snapshot: they count as evicted")
    return Later(Placement(tuple(podsets)), tuple(notes))


def _found(
    instance: Instance, question: Question, later: Question
) -> tuple[dict[_Set, Counter[Spot]], list[str]]:
    """Pods of each role by place."""
    by_pod = _roles_by_pod(question.jobs)
    found: dict[_Set, Counter[Spot]] = {}
    problems: list[Problem] = []
    unknown: list[str] = []
    for job in later.snapshot.jobs:
        name = job.full_name
        known = instance.job_index.get(name)
        for podset in job.pod_sets:
            role = None if known is None else _role(instance, known, podset.name)
            for place in podset.assignments:
                keys = [by_pod.get((job.namespace, pod.name), role) for pod in place.pods]
                keys += [role] * (place.count - len(keys))
                mine = [key for key in keys if key is not None]
                if len(mine) < len(keys):
                    unknown.append(name)
                node = instance.node_index.get(place.node)
                if node is None and mine:
                    expected = "a node of the first snapshot"
                    problems.append(Problem(later.source, f"job {name}", place.node, expected))
                elif node is not None:
                    spot = Spot(node, tuple(sorted(place.devices)))
                    for key in mine:
                        found.setdefault(key, Counter())[spot] += 1
    if problems:
        raise BadDataError(problems)
    notes = []
    if unknown:
        jobs = list(dict.fromkeys(unknown))
        text = f"{len(jobs)} jobs of the later snapshot are not in the question and left out"
        notes.append(f"{text}: {first_of(jobs)}")
    return found, notes


def _roles_by_pod(jobs: tuple[Job, ...]) -> dict[tuple[str, str], _Set]:
    """Roles of the pods that are known by name."""
    return {
        (job.namespace, pod.name): (j, i)
        for j, job in enumerate(jobs)
        for i, podset in enumerate(job.pod_sets)
        for pod in podset.refs
    }


def _role(instance: Instance, j: int, name: str) -> _Set | None:
    names = [role.name for role in instance.jobs[j].roles]
    return (j, names.index(name)) if name in names else None


def _share_out(
    instance: Instance, role: Role, found: Counter[Spot], podsets: list[dict[Spot, int]]
) -> int:
    """Divide the places of a role among its running and its pending pods; return those left."""
    left = Counter(found)
    wanted = {s: instance.podsets[s].count for s in role.podsets}
    if role.running is not None:
        for spot, pods in instance.podsets[role.running].current.items():
            stay = min(pods, left[spot])
            if stay:
                podsets[role.running][spot] = stay
                left[spot] -= stay
                wanted[role.running] -= stay
    for s in role.podsets:
        for spot in sorted(left):
            taken = min(left[spot], wanted[s])
            if taken:
                podsets[s][spot] = podsets[s].get(spot, 0) + taken
                left[spot] -= taken
                wanted[s] -= taken
    return sum(left.values())


@dataclass(frozen=True, slots=True)
class Since:
    """A question without the jobs that are gone since, and the later snapshot."""

    question: Question
    later: Question
    history: History | None = None
    """What is gone; ``None`` if the later snapshot knows all jobs."""


def since(question: Question, later: Question, model: Model) -> Since:
    """Leave out the running jobs that a later snapshot does not know.

    Whether these have ended or were evicted it does not say, so nothing is judged of them. Jobs
    that it knows, also as pending ones, are still wanted: their pods that are gone were evicted.
    """
    known = {(job.namespace, job.name) for job in later.jobs}
    pods = {(job.namespace, name) for job in later.jobs for name, _, _ in _pods(job) if name}
    gone = [
        job
        for job in question.snapshot.jobs
        if (job.namespace, job.name) not in known
        # Another snapshot may call a job by another name, but not its pods.
        and not any((job.namespace, name) in pods for name, _, _ in _pods(job))
    ]
    if not gone:
        return Since(question, later)
    left = tuple(job for job in question.snapshot.jobs if job not in gone)
    snapshot = question.snapshot.model_copy(update={"jobs": left})
    nodes, since_then = (
        {node.name for node in cluster.nodes} for cluster in (question.snapshot, later.snapshot)
    )
    history = History(
        stayed=running_pods(snapshot),
        placed=0,
        arrived=0,
        gone=tuple(
            Fate(
                pod=f"{job.namespace}/{name or job.name}",
                uid=uid,
                node=node,
                became="unknown",
                evidence=f"gone; the later snapshot has no job {job.full_name}",
            )
            for job in gone
            for name, uid, node in _pods(job)
        ),
        nodes_added=tuple(sorted(since_then - nodes)),
        nodes_removed=tuple(sorted(nodes - since_then)),
    )
    asked = replace(question, snapshot=snapshot)
    instance = by_priorities(asked).instance(model)
    placement = placement_in(instance, asked, later).placement
    return Since(replace(asked, done=evicted_for(instance, placement)), later, history)


def by_priorities(question: Question) -> Question:
    """Return a question in which priorities alone say who may be evicted for whom."""
    return replace(question, snapshot=question.snapshot.model_copy(update={"victims": ()}))


def evicted_for(instance: Instance, placement: Placement) -> frozenset[str]:
    """Name the jobs that were evicted, and those for whom they were, whatever their queues say."""
    step = Step(instance, instance.current, placement)
    heirs = preemptors_of(step)
    gone = [job for job in step.changed_jobs if any(map(step.evicted, job.podsets))]
    others = (heir.name for job in gone for heir in heirs.all_of(job) if heir is not None)
    return frozenset((*(job.name for job in gone), *others))


def _pods(job: Job) -> list[tuple[str, str, str]]:
    """Name, uid and node of each running pod of a job; no name where the document has none."""
    return [
        ("", "", pod.node) if pod.ref is None else (pod.ref.name, pod.ref.uid, pod.node)
        for pod in pods_of([job])
        if pod.node is not None
    ]
