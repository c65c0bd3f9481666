"""Gangs as PodGroups with sub-groups, limits as Queues, levels as a Topology: KAI's own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from kantopt.formats.kubernetes.node_groups import SHARD
from kantopt.formats.kubernetes.queue_trees import Placed, placed_of
from kantopt.formats.kubernetes.queues import KAI_UNITS
from kantopt.formats.written.gangs import is_gang, is_of_class, label_of, labels_of, minima, wish_of
from kantopt.formats.written.plain import Data, thing
from kantopt.formats.written.pods import Marks, System, Words
from kantopt.schema.duration import duration_seconds
from kantopt.schema.jobs import Job, TopologyRequest
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot

_UNITS = {resource: (name, scale) for name, (resource, scale) in KAI_UNITS.items()}
"""KAI's name of a resource and what one of its units is in base units."""


def _cluster(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Sequence[Data]:
    levels = [{"nodeLabel": label, "alias": name} for label, name in labels_of(snapshot).items()]
    made = [_queue(item) for item in placed_of(snapshot.queues)]
    if levels:
        made.insert(
            0, thing("kai.scheduler/v1alpha1", "Topology", "default", spec={"levels": levels})
        )
    return made


def _queue(item: Placed) -> Data:
    queue = item.queue
    resources: dict[str, Data] = {}
    for row in queue.resources:
        if row.nodes is None and row.name in _UNITS:
            name, scale = _UNITS[row.name]
            limit = to_base(row.name, row.nominal_quota) // scale
            resources[name] = {"quota": 0, "limit": limit}
    weight = Fraction(to_base("cpu", queue.weight), 1000)
    if weight != 1:
        plain = weight.numerator if weight.denominator == 1 else float(weight)
        gpu = resources.setdefault("gpu", {"quota": 0, "limit": -1})
        gpu["overQuotaWeight"] = plain
    spec: Data = {"resources": resources}
    if item.parent:
        spec["parentQueue"] = item.parent
    if queue.min_runtime is not None:
        spec["preemptMinRuntime"] = f"{duration_seconds(queue.min_runtime)}s"
    return thing("scheduling.run.ai/v2", "Queue", queue.name, spec=spec)


def _job(snapshot: ClusterSnapshot, job: Job) -> Words:
    labels = {"kai.scheduler/queue": job.queue_name} if job.queue_name else {}
    if not is_gang(job):
        return Words((), {item.name: Marks(labels=labels) for item in job.pod_sets})
    least = minima(job)
    roles = len(job.pod_sets) > 1 or job.pod_sets[0].name != "main"
    spec: Data = {
        "minMember": least.total,
        "queue": job.queue_name,
        "preemptibility": "preemptible" if job.preemptible else "non-preemptible",
    }
    if is_of_class(snapshot, job):
        spec["priorityClassName"] = job.priority_class_name
    whole = job.topology_request
    if whole is None and not roles:
        whole = wish_of(job, job.pod_sets[0])
    spec |= _constraint(snapshot, whole)
    if roles:
        spec["subGroups"] = [
            {"name": item.name, "minMember": least.roles[item.name]}
            | _constraint(snapshot, item.topology_request)
            for item in job.pod_sets
        ]
    group = thing("scheduling.run.ai/v2alpha2", "PodGroup", job.name, job.namespace, spec=spec)
    if shard := job.pod_sets[0].labels.get(SHARD):
        group["metadata"]["labels"] = {SHARD: shard}
    marks = {
        item.name: Marks(
            labels=labels | ({"kai.scheduler/subgroup-name": item.name} if roles else {}),
            annotations={"pod-group-name": job.name},
            spec={"schedulerName": "kai-scheduler"},
        )
        for item in job.pod_sets
    }
    return Words([group], marks)


def _constraint(snapshot: ClusterSnapshot, wish: TopologyRequest | None) -> Data:
    if wish is None or not (wish.required or wish.preferred):
        return {}
    fields = {
        "topology": "default",
        "requiredTopologyLevel": label_of(snapshot, wish.required),
        "preferredTopologyLevel": label_of(snapshot, wish.preferred),
    }
    return {"topologyConstraint": {name: value for name, value in fields.items() if value}}


KAI = System(_cluster, _job, tells_topology=True)
