"""Gangs as Kubernetes' own PodGroups, and Koordinator's, which are annotations."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.formats.kubernetes.koordinator.reservation_owners import owner_objects
from kantopt.formats.kubernetes.koordinator.reservations import GROUP, KIND
from kantopt.formats.written.gangs import is_gang, label_of, minima
from kantopt.formats.written.plain import Data, identity, thing
from kantopt.formats.written.pods import Marks, System, Words
from kantopt.schema.hundredths import as_asked
from kantopt.schema.jobs import Job, PodSet
from kantopt.schema.reservation import Reservation
from kantopt.schema.snapshot import ClusterSnapshot


def _nothing(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Sequence[Data]:
    """Neither has queues or a topology object that is read."""
    return ()


def _native(snapshot: ClusterSnapshot, job: Job) -> Words:
    if not is_gang(job):
        return Words()
    total = minima(job).total
    spec: Data = {
        "schedulingPolicy": {"gang": {"minCount": total}} if total else {"basic": {}},
        "disruptionMode": {job.disruption_mode: {}},
    }
    wishes = [job.topology_request]
    if len(job.pod_sets) == 1:
        wishes.append(job.pod_sets[0].topology_request)
    keys = [label_of(snapshot, wish.required) for wish in wishes if wish and wish.required]
    if keys:
        spec["schedulingConstraints"] = {"topology": [{"key": keys[-1]}]}
    if job.priority is not None:
        spec["priority"] = job.priority
    if job.priority_class_name:
        spec["priorityClassName"] = job.priority_class_name
    if job.preemption_policy is not None:
        spec["preemptionPolicy"] = job.preemption_policy
    group = thing("scheduling.k8s.io/v1beta1", "PodGroup", job.name, job.namespace, spec=spec)
    marks = Marks(spec={"schedulingGroup": {"podGroupName": job.name}})
    return Words([group], {item.name: marks for item in job.pod_sets})


ANNOTATED = "gangs are told by annotations of their pods, not by a PodGroup"
"""What a note says of Koordinator's."""


OWNERLESS = "reservations of which no document tells the owners are written for nobody"
"""What a note says of Koordinator's."""


def _reservation(job: Job, role: PodSet, node: str) -> Data:
    """Return the Reservation of which a job's only pod holds what is left."""
    made = thing(f"{GROUP}/v1alpha1", KIND, job.name)
    ref = role.assignments[0].pods[0]
    made["metadata"] |= identity(ref.uid, ref.resource_version)
    if job.creation_time:
        made["metadata"]["creationTimestamp"] = job.creation_time
    amounts = {name: str(n) for name, n in as_asked(role.requests).items() if name != "pods"}
    box = {"name": "main", "image": "pause", "resources": {"requests": amounts}}
    template = {"metadata": {"namespace": job.namespace}, "spec": {"containers": [box]}}
    told = job.reservation or Reservation()
    made["spec"] = {
        "template": template,
        "owners": owner_objects(told.owners),
        "allocateOnce": told.once,
        **({"allocatePolicy": "Restricted"} if told.restricted else {}),
        **({"unschedulable": True} if told.closed else {}),
        **({"expires": told.until} if told.until else {"ttl": "0"}),
    }
    made["status"] = {"phase": "Available", "nodeName": node, "allocatable": amounts}
    return made


def _koordinator(snapshot: ClusterSnapshot, job: Job) -> Words:
    places = job.pod_sets[0].assignments
    if places and places[0].pods and places[0].pods[0].owner_kind == KIND:
        held = _reservation(job, job.pod_sets[0], places[0].node)
        remark = OWNERLESS if job.reservation is None else ""
        return Words([held], remark=remark, has_pods=False)
    if not is_gang(job):
        return Words()
    prefix = "gang.scheduling.koordinator.sh"
    least = str(minima(job).total)
    marks = Marks(annotations={f"{prefix}/name": job.name, f"{prefix}/min-available": least})
    return Words((), {item.name: marks for item in job.pod_sets}, remark=ANNOTATED)


KUBERNETES = System(_nothing, _native, tells_topology=False)
KOORDINATOR = System(_nothing, _koordinator, tells_topology=False)
