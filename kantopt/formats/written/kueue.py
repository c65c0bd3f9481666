"""Gangs as Workloads, queues as ClusterQueues, levels as a Topology: Kueue's own, v1beta2."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kantopt.formats.kubernetes.gangs import PODSET
from kantopt.formats.kubernetes.jobs import unused
from kantopt.formats.kubernetes.pods import QUEUE_NAME
from kantopt.formats.written.gangs import is_gang, label_of, labels_of, minima, wish_of
from kantopt.formats.written.plain import Data, thing
from kantopt.formats.written.pods import Marks, System, Words, template
from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import ClusterSnapshot, Queue

_VERSION = "kueue.x-k8s.io/v1beta2"
_FLAVOR = "default-flavor"


def _cluster(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Sequence[Data]:
    made = []
    levels = [{"nodeLabel": label} for label in labels_of(snapshot)]
    if levels:
        made.append(thing(_VERSION, "Topology", "default", spec={"levels": levels}))
    flavors = _flavors(snapshot.queues)
    for selector, name in flavors.items():
        spec: Data = {"topologyName": "default"} if levels else {}
        if selector is not None:
            key, _, value = selector.partition("=")
            spec["nodeLabels"] = {key: value}
        made.append(thing(_VERSION, "ResourceFlavor", name, spec=spec))
    nobody = {item.job for item in snapshot.victims if not item.queues}
    nobody |= {job.full_name for job in jobs if job.preemption_policy == "Never"}
    waiting = {job.queue_name for job in jobs if job.full_name not in nobody}
    made += [_queue(queue, flavors, queue.name in waiting) for queue in snapshot.queues]
    known = {queue.name for queue in snapshot.queues}
    ways = {(job.namespace, _local(job)): job.queue_name for job in jobs}
    for (namespace, local), name in sorted(ways.items()):
        if name in known:
            spec = {"clusterQueue": name}
            made.append(thing(_VERSION, "LocalQueue", local, namespace, spec=spec))
    return made


def _flavors(queues: Sequence[Queue]) -> dict[str | None, str]:
    """Return the name of the flavor of all nodes, and of those with each label, KEY=VALUE."""
    labels = {
        row.nodes: None for queue in queues for row in queue.resources if "=" in (row.nodes or "")
    }
    names: dict[str | None, str] = {None: _FLAVOR} if queues else {}
    for label in labels:
        names[label] = unused(
            re.sub("[^a-z0-9.]+", "-", str(label).lower()).strip("-."), names.values()
        )
    return names


def _queue(queue: Queue, names: Mapping[str | None, str], preempts: bool) -> Data:
    spec: Data = {"namespaceSelector": {}, "fairSharing": {"weight": str(queue.weight)}}
    if queue.cohort:
        spec["cohortName"] = queue.cohort
    if queue.strict_order:
        spec["queueingStrategy"] = "StrictFIFO"
    if preempts:
        spec["preemption"] = {"withinClusterQueue": "LowerPriority"}
        if queue.cohort:
            spec["preemption"]["reclaimWithinCohort"] = "LowerPriority"
    groups = [
        {
            "coveredResources": list(resources),
            "flavors": [
                {"name": names[kind], "resources": [resources[name][kind] for name in resources]}
                for kind in kinds
            ],
        }
        for kinds, resources in _groups(queue, names).items()
    ]
    if groups:
        spec["resourceGroups"] = groups
    return thing(_VERSION, "ClusterQueue", queue.name, spec=spec)


def _groups(
    queue: Queue, names: Mapping[str | None, str]
) -> dict[tuple[str | None, ...], dict[str, dict[str | None, Data]]]:
    """Return quotas by the flavors of their resource and by this; a flavor is in one group only."""
    found: dict[str, dict[str | None, Data]] = {}
    for row in queue.resources:
        if row.nodes in names:
            quota: Data = {"name": row.name, "nominalQuota": str(row.nominal_quota)}
            if row.borrowing_limit is not None:
                quota["borrowingLimit"] = str(row.borrowing_limit)
            if row.lending_limit is not None:
                quota["lendingLimit"] = str(row.lending_limit)
            found.setdefault(row.name, {})[row.nodes] = quota
    groups: dict[tuple[str | None, ...], dict[str, dict[str | None, Data]]] = {}
    for name, quotas in found.items():
        kinds = tuple(quotas)
        if all(kinds == other or not {*kinds} & {*other} for other in groups):
            groups.setdefault(kinds, {})[name] = quotas
    return groups


def _local(job: Job) -> str:
    """Return the LocalQueue of a job: the one that its pods name, else one called as its queue."""
    return next(
        (item.labels[QUEUE_NAME] for item in job.pod_sets if item.labels.get(QUEUE_NAME)),
        job.queue_name,
    )


def _job(snapshot: ClusterSnapshot, job: Job) -> Words:
    queue = {QUEUE_NAME: _local(job)} if job.queue_name else {}
    if not is_gang(job):
        return Words((), {item.name: Marks(labels=queue) for item in job.pod_sets})
    least = minima(job)
    placed = any(item.assignments for item in job.pod_sets)
    admitted = placed or job.quota_reserved
    has_pods = placed or any(item.pods for item in job.pod_sets)
    annotations = {"kueue.x-k8s.io/workload": job.name}
    if least.total > sum(least.roles.values()):
        # The group's own annotation is the minimum over all roles; a Workload has none.
        annotations["kueue.x-k8s.io/pod-group-total-count"] = str(least.total)
    marks = {
        item.name: Marks(labels={**queue, PODSET: item.name}, annotations=annotations)
        for item in job.pod_sets
    }
    roles = [
        {
            "name": item.name,
            "count": item.count,
            "minCount": least.roles[item.name],
            "template": template(job, item, Marks(annotations=annotations)),
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
    if job.uid:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job.name, "uid": job.uid}
        workload["metadata"]["ownerReferences"] = [owner]
    if admitted:
        workload["status"] = {"admission": {"clusterQueue": job.queue_name}}
    return Words([workload], marks, has_pods=has_pods)


def _request(snapshot: ClusterSnapshot, job: Job, pod_set: PodSet) -> Data:
    wish, whole = wish_of(job, pod_set), _together(job)
    own = wish or TopologyRequest()
    both = whole or own
    fields: Data = {
        "required": label_of(snapshot, both.required),
        "preferred": label_of(snapshot, both.preferred),
        "podSetGroupName": job.name if whole else "",
        "podSetSliceRequiredTopology": label_of(snapshot, own.pod_set_slice_required_topology),
        "podSetSliceSize": own.pod_set_slice_size,
    }
    told = {name: value for name, value in fields.items() if value}
    return {"topologyRequest": told} if told else {}


def _together(job: Job) -> TopologyRequest | None:
    """Return the closeness of both roles, which Kueue lets a leader and its workers have."""
    wish, roles = job.topology_request, job.pod_sets
    own = [role.topology_request for role in roles if role.topology_request is not None]
    if wish is None or wish.pod_set_slice_required_topology or len(roles) != 2:
        return None
    alone = min(role.count for role in roles) == 1
    return wish if alone and not any(item.required or item.preferred for item in own) else None


KUEUE = System(_cluster, _job, tells_topology=True)
