"""The pods of a job with what a batch system says of it, and what says where they may go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product

from kantopt.formats.kubernetes.nodes import PREFERRED, REQUIRED
from kantopt.formats.written.plain import Data, identity, thing
from kantopt.schema.base import Expression, Part
from kantopt.schema.dump import dump_data, text_digest
from kantopt.schema.duration import duration_seconds
from kantopt.schema.hundredths import as_asked
from kantopt.schema.jobs import (
    Job,
    NodeSelectorTerm,
    PodAffinityTerm,
    PodAntiAffinityTerm,
    PodRef,
    PodSet,
    PreferredPods,
)
from kantopt.schema.snapshot import ClusterSnapshot

_LONG_AGO = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Marks:
    """What a batch system wants to find on the pods of a role."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    spec: Data = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Words:
    """How one job is said: objects beside its pods, and marks on them by role."""

    objects: Sequence[Data] = ()
    marks: Mapping[str, Marks] = field(default_factory=dict)
    remark: str = ""
    """What of the form in which it is said is worth a note."""
    has_pods: bool = True
    """False: the objects stand for pods that do not exist yet."""


@dataclass(frozen=True, slots=True)
class System:
    """A batch system's own objects, beside nodes, pods, classes and budgets."""

    cluster: Callable[[ClusterSnapshot, Sequence[Job]], Sequence[Data]]
    """Queues and topology."""
    job: Callable[[ClusterSnapshot, Job], Words]
    tells_topology: bool
    """Whether its objects say which labels are levels."""


def template(job: Job, pod_set: PodSet, marks: Marks) -> Data:
    """Return what all pods of a role have in common, without a name."""
    asked = as_asked(pod_set.requests)
    requests = {name: str(n) for name, n in asked.items() if name != "pods"}
    box: Data = {"name": "main", "image": "pause", "resources": {"requests": requests}}
    if pod_set.host_ports:
        box["ports"] = [
            {"containerPort": port.host_port, **dump_data(port)} for port in pod_set.host_ports
        ]
    spec: Data = {"containers": [box], **_placed_by(pod_set), **marks.spec}
    names = [claim["metadata"]["name"] for _, claim in volumes(job, pod_set)]
    if names:
        spec["volumes"] = [
            {"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}}
            for i, name in enumerate(names)
        ]
    if job.priority_class_name:
        spec["priorityClassName"] = job.priority_class_name
    priority = job.priority if job.pod_priority is None else job.pod_priority
    if priority is not None:
        spec["priority"] = priority
    if job.preemption_policy is not None:
        spec["preemptionPolicy"] = job.preemption_policy
    annotations = _annotations(job, pod_set) | marks.annotations
    metadata: Data = {"labels": {**pod_set.labels, **marks.labels}}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": spec}


def pods(job: Job, pod_set: PodSet, marks: Marks) -> Iterator[Data]:
    """Yield the pods of a role; those without a name get one."""
    shape = template(job, pod_set, marks)
    number = 0
    for place in pod_set.assignments:
        for i in range(place.count):
            ref = place.pods[i] if i < len(place.pods) else _unnamed(job, pod_set, number)
            yield _pod(job, pod_set, shape, ref, place.node)
            number += 1
    for i in range(pod_set.count - number):
        ref = pod_set.pods[i] if i < len(pod_set.pods) else _unnamed(job, pod_set, number + i)
        yield _pod(job, pod_set, shape, ref, "")


def volumes(job: Job, pod_set: PodSet) -> Iterator[tuple[Data, Data]]:
    """Yield a volume and the claim bound to it for each that keeps pods on some nodes.

    Who may write to it at a time is not told, so it is for all. What asks for nodes by name is
    left out: of a volume kube-scheduler compares labels only.
    """
    for i, terms in enumerate(pod_set.volume_node_affinity):
        if any(term.match_fields for term in terms):
            continue
        name = _unnamed(job, pod_set, i).name
        claim = thing("v1", "PersistentVolumeClaim", name, job.namespace)
        volume = thing("v1", "PersistentVolume", name)
        modes = {"accessModes": ["ReadWriteMany"]}
        where = {"required": {"nodeSelectorTerms": [_plain(term) for term in terms]}}
        volume["spec"] = {**modes, "nodeAffinity": where}
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        claim["spec"] = {**modes, "volumeName": name}
        claim["status"] = {"phase": "Bound"}
        yield volume, claim


def unnamed(pod_set: PodSet) -> int:
    """Return how many pods of a role have no name."""
    named = sum(min(place.count, len(place.pods)) for place in pod_set.assignments)
    return pod_set.count - named - min(pod_set.waiting, len(pod_set.pods))


def _unnamed(job: Job, pod_set: PodSet, number: int) -> PodRef:
    """Return a name that is unique in the cluster, also where parts of names coincide."""
    whose = text_digest([job.namespace, job.name, pod_set.name])[-10:]
    return PodRef(name=f"{job.name[:190]}-{pod_set.name[:40]}-{whose}-{number}")


def _annotations(job: Job, pod_set: PodSet) -> dict[str, str]:
    found = {}
    cost = pod_set.disruption_cost
    cost = job.disruption_cost if cost is None else cost
    if cost != 1:
        found["controller.kubernetes.io/pod-deletion-cost"] = str(cost - 1)
    if job.min_runtime is not None:
        found["kantopt/min-runtime"] = f"{duration_seconds(job.min_runtime)}s"
    saved = pod_set.last_checkpoint_time or job.last_checkpoint_time
    if saved:
        found["kantopt/last-checkpoint-time"] = saved
    free = job.preemptible if pod_set.preemptible is None else pod_set.preemptible
    if not free and not job.daemon and not pod_set.terminating:
        found["karpenter.sh/do-not-disrupt"] = "true"
    return found


_TRAINING = "TrainJob.trainer.kubeflow.org"
"""Stands for an owner that is not told: its pods have work to lose, and any number of them may go.

A ReplicaSet's have none, and of a Job's no more may go than its ``backoffLimit`` says.
"""


def _pod(job: Job, pod_set: PodSet, shape: Data, ref: PodRef, node: str) -> Data:
    made_up = "DaemonSet" if job.daemon else _TRAINING
    kind, _, group = (ref.owner_kind or made_up).partition(".")
    owner = {
        "apiVersion": f"{group or ('batch' if kind == 'Job' else 'apps')}/v1",
        "kind": kind,
        "name": job.name,
        "controller": True,
    } | ({"uid": uid} if (uid := ref.owner_uid or job.uid) else {})
    made = thing("v1", "Pod", ref.name, job.namespace)
    metadata = made["metadata"] | identity(ref.uid, ref.resource_version)
    metadata |= {**shape["metadata"], "ownerReferences": [owner]}
    if job.creation_time:
        metadata["creationTimestamp"] = job.creation_time
    if pod_set.terminating:
        since = job.start_time or job.creation_time
        metadata["deletionTimestamp"] = since or _LONG_AGO
    spec = dict(shape["spec"])
    if node and not pod_set.nominated:
        spec["nodeName"] = node
    if ref.grace_period_seconds is not None:
        spec["terminationGracePeriodSeconds"] = ref.grace_period_seconds
    if ref.scheduling_gates:
        spec["schedulingGates"] = [{"name": gate} for gate in ref.scheduling_gates]
    runs = node and not pod_set.nominated and pod_set.health != "starting"
    status: Data = {"phase": "Running" if runs else "Pending"}
    if node and pod_set.nominated:
        status["nominatedNodeName"] = node
    if pod_set.health == "unready":
        status["conditions"] = [{"type": "Ready", "status": "False"}]
    started = pod_set.start_time or job.start_time
    if node and started:
        status["startTime"] = started
    return {**made, "metadata": metadata, "spec": spec, "status": status}


def _placed_by(pod_set: PodSet) -> Data:
    """Return the fields of a pod's spec that decide where it may go."""
    node: Data = {}
    if pod_set.node_affinity:
        terms = [_plain(each) for term in pod_set.node_affinity for each in _by_one_name(term)]
        node[REQUIRED] = {"nodeSelectorTerms": terms}
    if pod_set.preferred_node_affinity:
        node[PREFERRED] = [_plain(item) for item in pod_set.preferred_node_affinity]
    affinity = {
        "nodeAffinity": node,
        "podAffinity": _pods(pod_set.pod_affinity, pod_set.preferred_pod_affinity),
        "podAntiAffinity": _pods(pod_set.pod_anti_affinity, pod_set.preferred_pod_anti_affinity),
    }
    spread = [
        {**_plain(item), "whenUnsatisfiable": when}
        for when, items in (
            ("DoNotSchedule", pod_set.topology_spread_constraints),
            ("ScheduleAnyway", pod_set.preferred_topology_spread),
        )
        for item in items
    ]
    fields = {
        "nodeSelector": dict(sorted(pod_set.node_selector.items())),
        "affinity": {name: value for name, value in affinity.items() if value},
        "tolerations": [_plain(item) for item in pod_set.tolerations],
        "topologySpreadConstraints": spread,
    }
    return {name: value for name, value in fields.items() if value}


def _by_one_name(term: NodeSelectorTerm) -> Iterator[NodeSelectorTerm]:
    """Yield terms of which a node meets one if it meets this: each compares fields with one value.

    Kubernetes takes no others.
    """
    choices: list[list[tuple[Expression, ...]]] = []
    for item in term.match_fields:
        each = [item.model_copy(update={"values": (value,)}) for value in item.values]
        choices.append([(one,) for one in each] if item.operator == "In" else [tuple(each)])
    for chosen in product(*choices):
        yield term.model_copy(update={"match_fields": tuple(chain(*chosen))})


def _pods(
    required: Sequence[PodAffinityTerm | PodAntiAffinityTerm], preferred: Sequence[PreferredPods]
) -> Data:
    fields: Data = {}
    if required:
        fields[REQUIRED] = [_plain(item) for item in required]
    if preferred:
        terms = [_plain(item) for item in preferred]
        fields[PREFERRED] = [
            {"weight": term.pop("weight"), "podAffinityTerm": term} for term in terms
        ]
    return fields


def _plain(part: Part) -> Data:
    """Return a part whose fields are those of Kubernetes; an empty selector is not none."""
    data = dump_data(part)
    selector = getattr(part, "label_selector", None)
    if selector is not None:
        data.setdefault("labelSelector", {})
    return data
