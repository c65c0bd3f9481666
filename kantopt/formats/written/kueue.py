"""Gangs as Workloads, queues as ClusterQueues, levels as a Topology: Kueue's own, v1beta2."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.formats.written.gangs import is_gang, label_of, labels_of, minima, wish_of
from kantopt.formats.written.plain import Data, thing
from kantopt.formats.written.pods import Marks, template
from kantopt.formats.written.system import System, Words
from kantopt.schema.jobs import Job, PodSet
from kantopt.schema.snapshot import ClusterSnapshot, Queue

_VERSION = "kueue.x-k8s.io/v1beta2"
_QUEUE = "kueue.x-k8s.io/queue-name"
_FLAVOR = "default-flavor"


def _cluster(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Sequence[Data]:
    made = []
    levels = [{"nodeLabel": label} for label in labels_of(snapshot)]
    if levels:
        made.append(thing(_VERSION, "Topology", "default", spec={"levels": levels}))
    if snapshot.queues:
        spec: Data = {"topologyName": "default"} if levels else {}
        made.append(thing(_VERSION, "ResourceFlavor", _FLAVOR, spec=spec))
    made += [_queue(queue) for queue in snapshot.queues]
    known = {queue.name for queue in snapshot.queues}
    ways = {(job.namespace, _local(job)): job.queue_name for job in jobs}
    for (namespace, local), name in sorted(ways.items()):
        if name in known:
            spec = {"clusterQueue": name}
            made.append(thing(_VERSION, "LocalQueue", local, namespace, spec=spec))
    return made


def _queue(queue: Queue) -> Data:
    spec: Data = {"namespaceSelector": {}, "fairSharing": {"weight": str(queue.weight)}}
    if queue.cohort:
        spec["cohortName"] = queue.cohort
    rows = [row for row in queue.resources if row.nodes is None]
    if rows:
        quotas = []
        for row in rows:
            quota: Data = {"name": row.name, "nominalQuota": str(row.nominal_quota)}
            if row.borrowing_limit is not None:
                quota["borrowingLimit"] = str(row.borrowing_limit)
            if row.lending_limit is not None:
                quota["lendingLimit"] = str(row.lending_limit)
            quotas.append(quota)
        flavors = [{"name": _FLAVOR, "resources": quotas}]
        names = [row.name for row in rows]
        spec["resourceGroups"] = [{"coveredResources": names, "flavors": flavors}]
    return thing(_VERSION, "ClusterQueue", queue.name, spec=spec)


def _local(job: Job) -> str:
    """Return the LocalQueue of a job: the one that its pods name, else one called as its queue."""
    return next(
        (item.labels[_QUEUE] for item in job.pod_sets if item.labels.get(_QUEUE)), job.queue_name
    )


def _job(snapshot: ClusterSnapshot, job: Job) -> Words:
    queue = {_QUEUE: _local(job)} if job.queue_name else {}
    if not is_gang(job):
        return Words((), {item.name: Marks(labels=queue) for item in job.pod_sets})
    least = minima(job)
    placed = any(item.assignments for item in job.pod_sets)
    has_pods = placed or any(item.pods for item in job.pod_sets)
    # The group's own annotation is the minimum over all roles; a Workload has none.
    marks = Marks(
        labels={**queue, "kueue.x-k8s.io/podset": ""},
        annotations={"kueue.x-k8s.io/workload": job.name},
    )
    by_role = {
        item.name: Marks(
            labels={**marks.labels, "kueue.x-k8s.io/podset": item.name},
            annotations=dict(marks.annotations)
            | (
                {"kueue.x-k8s.io/pod-group-total-count": str(least.total)}
                if least.total > sum(least.roles.values())
                else {}
            ),
        )
        for item in job.pod_sets
    }
    roles = [
        {
            "name": item.name,
            "count": item.count,
            "minCount": least.roles[item.name],
            "template": template(job, item, Marks(annotations=by_role[item.name].annotations)),
        }
        | _request(snapshot, job, item)
        for item in job.pod_sets
    ]
    spec: Data = {"queueName": _local(job), "podSets": roles}
    if job.priority is not None:
        spec["priority"] = job.priority
    workload = thing(_VERSION, "Workload", job.name, job.namespace, spec=spec)
    if job.creation_time:
        workload["metadata"]["creationTimestamp"] = job.creation_time
    if job.uid and not has_pods:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job.name, "uid": job.uid}
        workload["metadata"]["ownerReferences"] = [owner]
    if placed:
        workload["status"] = {"admission": {"clusterQueue": job.queue_name}}
    return Words([workload], by_role, has_pods)


def _request(snapshot: ClusterSnapshot, job: Job, pod_set: PodSet) -> Data:
    wish = wish_of(job, pod_set)
    if wish is None:
        return {}
    fields: Data = {
        "required": label_of(snapshot, wish.required),
        "preferred": label_of(snapshot, wish.preferred),
        "podSetSliceRequiredTopology": label_of(snapshot, wish.pod_set_slice_required_topology),
        "podSetSliceSize": wish.pod_set_slice_size,
    }
    return {"topologyRequest": {name: value for name, value in fields.items() if value}}


KUEUE = System(_cluster, _job, tells_topology=True)
