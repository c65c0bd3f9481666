"""A question as documents, and short ways to change what all of its nodes, jobs or pods have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from kantopt.schema.jobs import Assignment, Job, PodSet, Requests
from kantopt.schema.model import Model
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import ClusterSnapshot, Node
from scripts.bench.case import Case, Documents
from scripts.bench.models import MakeModel

LABEL = "bench.example/all"
"""Label that features give nodes and pods; no instance has it."""
HOSTNAME = "kubernetes.io/hostname"
MOMENT = "2026-01-01T00:00:00Z"
"""When a snapshot without a moment counts as taken, where a feature needs one."""


class NotHereError(Exception):
    """The feature could bind somebody in this question, or is part of it already."""


@dataclass(frozen=True, slots=True)
class Stated(Documents):
    """Documents and the model under which they are asked about."""

    model: Model | None = None

    @property
    def asked(self) -> Model:
        """The model."""
        assert self.model is not None
        return self.model

    def pod_sets(self) -> Iterator[tuple[Job, PodSet]]:
        """Every role of every job."""
        for job in self.jobs:
            for podset in job.pod_sets:
                yield job, podset

    def lowest_priority(self) -> int:
        """Priority that nobody is below: its jobs may evict nobody."""
        return min((job.priority or 0 for job in self.jobs), default=0)


def own_model(documents: Documents) -> Model:
    """Return the model that a question is stated with."""
    assert isinstance(documents, Stated)
    return documents.asked


def stated_by(case: Case, model: MakeModel) -> Callable[[], Stated]:
    """Return what makes a case, with the model for it, once."""

    @cache
    def stated() -> Stated:
        made = case.make()
        return Stated(made.snapshot, made.pending, made.facts, model(made))

    return stated


Change = Callable[[Stated], Stated]


def only_if(condition: bool) -> None:
    """Say that a feature binds nobody only under a condition.

    Raises
    ------
    NotHereError
        If the condition does not hold.
    """
    if not condition:
        raise NotHereError


def with_snapshot(stated: Stated, **changes: Any) -> Stated:
    """Return the question with other fields of the snapshot."""
    return replace(stated, snapshot=stated.snapshot.model_copy(update=changes))


def with_model(stated: Stated, **changes: Any) -> Stated:
    """Return the question under a model with other fields."""
    return replace(stated, model=stated.asked.model_copy(update=changes))


def each_node(stated: Stated, change: Callable[[Node], Mapping[str, Any]]) -> Stated:
    """Return the question with other fields of each node."""
    nodes = stated.snapshot.nodes
    return with_snapshot(
        stated, nodes=tuple(node.model_copy(update=dict(change(node))) for node in nodes)
    )


def each_job(stated: Stated, change: Callable[[Job], Mapping[str, Any]]) -> Stated:
    """Return the question with other fields of each job, running or pending."""

    def changed(jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        return tuple(job.model_copy(update=dict(change(job))) for job in jobs)

    return replace(
        stated,
        snapshot=stated.snapshot.model_copy(update={"jobs": changed(stated.snapshot.jobs)}),
        pending=changed(stated.pending),
    )


def each_pod_set(stated: Stated, change: Callable[[Job, PodSet], Mapping[str, Any]]) -> Stated:
    """Return the question with other fields of each role of each job."""
    return each_job(
        stated,
        lambda job: {
            "pod_sets": tuple(
                podset.model_copy(update=dict(change(job, podset))) for podset in job.pod_sets
            )
        },
    )


def single(job: Job) -> bool:
    """Whether a job is one pod."""
    return len(job.pod_sets) == 1 and job.pod_sets[0].count == 1


def metrics_of(model: Model) -> set[str]:
    """Names of all metrics that a model minimises."""
    found = set()
    for objective in model.objectives or ():
        found.add(objective.name)
        found |= {inner.name for inner in objective.each_priority or ()}
    return found


def wanted(stated: Stated) -> Counter[str]:
    """All that all pods ask for, by resource, in base units."""
    total: Counter[str] = Counter()
    for _, podset in stated.pod_sets():
        _add(total, podset.requests, podset.count)
        for request in podset.devices:
            _add(total, request.requests, podset.count * request.count)
    return total


def _add(total: Counter[str], requests: Requests, times: int) -> None:
    for resource, amount in requests.items():
        total[resource] += times * to_base(resource, amount)


def with_more(node: Node, resource: str, base_units: int) -> Requests:
    """Return what a node offers with more of something that it lists."""
    offered = dict(node.allocatable)
    if resource in offered:
        amount = to_base(resource, offered[resource], up=False)
        offered[resource] = from_base(resource, amount + base_units)
    return offered


def beside(stated: Stated, job: Job) -> Stated:
    """Add a running job that neither leaves its places nor takes room: nodes get more of what it
    asks for, as much as it asks for, and a place among their pods where those are numbered."""
    (podset,) = job.pod_sets
    places = {place.node: place.count for place in podset.assignments}

    def roomier(node: Node) -> dict[str, Any]:
        offered = node
        for resource, amount in {"pods": 1, **podset.requests}.items():
            more = to_base(resource, amount) * places.get(node.name, 0)
            offered = offered.model_copy(update={"allocatable": with_more(offered, resource, more)})
        return {"allocatable": offered.allocatable}

    made = each_node(stated, roomier)
    return with_snapshot(made, jobs=(*made.snapshot.jobs, job))


def tiny(stated: Stated, name: str, **of_pods: Any) -> Stated:
    """Add a running pod that asks for nothing and stays on the first node, see :func:`beside`."""
    node = stated.snapshot.nodes[0].name
    podset = PodSet(count=1, min_count=0, assignments=(Assignment(node=node),), **of_pods)
    return beside(
        stated,
        Job(
            name=name,
            priority=stated.lowest_priority(),
            preemptible=False,
            movable=False,
            pod_sets=(podset,),
        ),
    )


def waiting(stated: Stated, name: str, pods: int, **of_pods: Any) -> Stated:
    """Add a job that waits and asks for nothing but places among the pods of nodes.

    All other pods together leave so many places free that each of its pods finds one wherever they
    are, and nobody is below its priority, so that it evicts nobody.

    Raises
    ------
    NotHereError
        If places might be short.
    """
    only_if(spare_places(stated.snapshot, sum(p.count for _, p in stated.pod_sets()), pods))
    podset = PodSet(count=pods, **{"min_count": 0, **of_pods})
    job = Job(name=name, priority=stated.lowest_priority(), pod_sets=(podset,))
    return replace(stated, pending=(*stated.pending, job))


def spare_places(snapshot: ClusterSnapshot, taken: int, more: int) -> bool:
    """Whether some node has ``more`` free places and so many nodes have one, whoever is where."""
    numbered = [node.allocatable.get("pods") for node in snapshot.nodes]
    if len(numbered) < more:
        return False
    if sum(places is None for places in numbered) >= more:
        return True
    places = [to_base("pods", number, up=False) for number in numbered if number is not None]
    free = sum(places) - taken
    # As many pods as leave fewer than that free on each node, or fill all nodes but a few.
    largest = sorted(places, reverse=True)[: more - 1]
    return free > max(len(places) * (more - 1), sum(largest))
