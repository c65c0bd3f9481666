"""One Kubernetes pod, or pod template, as the import sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from kantopt.formats.kubernetes.disruption import causes_of, disruption_cost, owner_of
from kantopt.formats.kubernetes.host_ports import read_host_ports
from kantopt.formats.kubernetes.namespaces import Namespaces
from kantopt.formats.kubernetes.nodes import (
    bounded,
    read_node_affinity,
    read_preferred_nodes,
    read_tolerations,
    selector_keys,
)
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pod_neighbours import Neighbours, Term, read_spreads
from kantopt.formats.kubernetes.pod_requests import holds_more, pod_requests
from kantopt.formats.notes import Notes
from kantopt.formats.view import Key, View
from kantopt.schema.base import Toleration
from kantopt.schema.card_shares import is_card_share
from kantopt.schema.features import Feature
from kantopt.schema.hundredths import asks_for_part
from kantopt.schema.jobs import PodRef
from kantopt.schema.quantity import from_base
from kantopt.schema.reservation import Reservation
from kantopt.schema.stays import Cause, Fixed

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
"""Label of what waits in a LocalQueue of Kueue's."""


@dataclass(frozen=True, slots=True)
class WorkloadRef:
    """A replica of a pod group of a Workload (Kubernetes 1.35)."""

    name: str
    group: str
    replica: str


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod; ``shape`` holds the fields of its pod set, equal for pods that are alike."""

    namespace: str
    ref: PodRef
    node: str
    nominated: str
    """Node where kube-scheduler makes room for it."""
    labels: dict[str, str]
    annotations: dict[str, str]
    owner_kind: str
    owner_name: str
    owner_uid: str
    scheduler: str
    priority: int | None
    priority_class: str
    preemption_policy: str | None
    created: str | None
    started: str | None
    terminating: bool
    restarts: str
    """What becomes of its containers when they end: ``restartPolicy``."""
    stays: tuple[Cause | Fixed, ...]
    """What speaks against disturbing it, as far as itself tells."""
    pinned: str
    """What keeps it from being evicted or moved, once all is known."""
    homebound: tuple[Cause | Fixed, ...]
    """What keeps it from being moved; it may be evicted with others where ``pinned`` is empty."""
    group_name: str
    workload: WorkloadRef | None
    shape: dict[str, Any]
    selects: frozenset[str]
    reservation: Reservation | None = None
    """Whose the room is for which it stands."""
    waits_with: tuple[str, ...] = ()
    """Claims for one node that others wait with as well, and nobody runs with."""
    unit: str = ""
    """Name of the pods that go together with it, if any do."""
    ends_others: bool = False
    """Whether those, or some of them, end with it and are not all made anew together."""
    ends_job: bool = False
    """Whether they all end with it for good."""
    leads: bool = False
    """Whether all other pods of its owner end with it, which bears the loss of any of them."""
    follows: bool = False
    """Whether it is made once a pod that waits has its node, which should not start without it."""
    unit_restarts: int = 0
    """How often they are all made anew as one of their Jobs fails; 0: that is not what happens."""
    local_queue: str = ""
    """Queue of Kueue's, by its label or its Workload."""
    kueue_workload: str = ""
    """Name of the Workload of Kueue's to which its owners lead."""
    quota_reserved: bool = False
    """Whether Kueue has admitted that Workload: it holds its quota though the pod waits."""
    assignment: tuple[str, str, str] | None = None
    """Namespace, Workload and pod set for which Kueue has chosen domains, if it has."""
    kueue_flavors: tuple[str, ...] = ()
    """Flavors that Kueue has given it, where no pod has their nodes' labels yet."""
    kueue_count: int = 0
    """Fewest pods of its kind that Kueue gives one flavor together, where they wait for that."""
    submitted: str = ""
    """Uid of the object for which that Workload was made."""
    kueue_role: str = ""
    """Its pod set there, where there is but one."""

    @property
    def full_name(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.ref.name}"

    @property
    def key(self) -> Key:
        """Namespace and name, as they tell its object."""
        return self.namespace, self.ref.name

    def shaped(self, **fields: object) -> Pod:
        """Return the pod with some fields of its shape replaced."""
        return replace(self, shape={**self.shape, **fields})


def read_pod(
    pod: View,
    namespaces: Namespaces,
    notes: Notes,
    *,
    sidecar_ports: bool = True,
    template: bool = False,
) -> Pod:
    """Read a pod or a pod template; what has no place in our documents is noted.

    Parameters
    ----------
    pod
        The object.
    namespaces
        What a namespace selector may select.
    notes
        Takes what is left out.
    sidecar_ports
        Whether host ports of sidecars count.
    template
        Whether it is a template, of which the API server has not made a pod yet.
    """
    metadata, spec, status = pod.at("metadata"), pod.at("spec"), pod.at("status")
    annotations, labels = pod.annotations, pod.labels
    namespace, _ = pod.key
    owner = owner_of(pod)
    name = metadata.name()
    bound = pod.node
    kind = "" if owner is None else owner.text("kind")
    affinity = read_node_affinity(spec)
    if kind == "DaemonSet" and bound:
        # Its controller ties each pod to its node; a pinned pod needs no second tie, which would
        # make every pod of the set unlike the others.
        affinity = ()
    neighbours = Neighbours(namespace, labels if template else {}, namespaces)
    anti = neighbours.anti_affinity(spec, notes)
    near, told = neighbours.affinity(spec)
    spreads = tuple(read_spreads(spec, labels))
    wishes = {
        field: neighbours.wishes(spec, kind)
        for field, kind in (
            ("preferred_pod_affinity", "podAffinity"),
            ("preferred_pod_anti_affinity", "podAntiAffinity"),
        )
    }
    evens = tuple(read_spreads(spec, labels, "ScheduleAnyway"))
    terms: tuple[Term, ...] = (*anti, *near, *spreads, *evens, *chain(*wishes.values()))
    requests = pod_requests(spec, status if bound else None)
    if bound and holds_more(spec, status):
        text = "pods that are being made smaller count as large as they still are, also elsewhere"
        notes.add(text, f"{namespace}/{name}")
    stays = causes_of(pod)
    tolerations = read_tolerations(spec, notes)
    if "static" in stays:
        # The kubelet starts it by itself, whatever taints its node has.
        tolerations = (Toleration(operator="Exists"),)
    return Pod(
        namespace=namespace,
        ref=PodRef(
            name=name or "?",
            uid=pod.uid,
            resource_version=metadata.text("resourceVersion"),
            scheduling_gates=tuple(gate.name() for gate in spec.list("schedulingGates")),
            grace_period_seconds=grace_period(spec),
            **_maker(owner),
        ),
        node=bound,
        nominated="" if bound else status.text("nominatedNodeName"),
        labels=labels,
        annotations=annotations,
        owner_kind=kind,
        owner_name="" if owner is None else owner.text("name"),
        owner_uid="" if owner is None else owner.text("uid"),
        scheduler=spec.text("schedulerName"),
        priority=spec.integer("priority"),
        priority_class=spec.text("priorityClassName"),
        preemption_policy=spec.choice("preemptionPolicy", POLICIES, "") or None,
        created=metadata.time("creationTimestamp"),
        started=status.time("startTime"),
        terminating=pod.terminating,
        local_queue=labels.get(QUEUE_NAME, ""),
        restarts=spec.text("restartPolicy"),
        stays=stays,
        pinned=next(iter(stays), ""),
        homebound=stays,
        group_name=spec.at("schedulingGroup").text("podGroupName"),
        workload=_workload(spec.at("workloadRef")),
        shape={
            "requests": {name: from_base(name, n) for name, n in requests.items()},
            "host_ports": read_host_ports(spec, sidecars=sidecar_ports),
            "node_selector": dict(sorted(spec.words("nodeSelector").items())),
            "node_affinity": affinity,
            "tolerations": tolerations,
            "pod_anti_affinity": anti,
            "pod_affinity": near,
            "terminating": pod.terminating,
            "health": health_of(pod) if bound else "ready",
            "topology_spread_constraints": spreads,
            "preferred_node_affinity": read_preferred_nodes(spec),
            "preferred_topology_spread": evens,
            **wishes,
            "not_modelled": not_modelled(spec, annotations, requests, namespaces_told=told),
            "disruption_cost": None if (cost := disruption_cost(annotations)) == 1 else cost,
        },
        selects=selector_keys(term.label_selector for term in terms),
    )


def read_template(
    template: View,
    objects: Objects,
    *,
    name: str,
    namespace: str,
    created: str | None,
    labels: Mapping[str, str],
) -> Pod:
    """Read what pods are made from that do not exist yet.

    Parameters
    ----------
    template
        It has no name of its own; its place in the file stays that of it.
    objects
        Those of the input.
    name, namespace, created, labels
        What its pods have beside what it says.
    """
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {**template.labels, **labels},
        "annotations": template.annotations,
        "creationTimestamp": created,
    }
    made = template.replaced(metadata=metadata)
    return read_pod(made, objects.namespaces, objects.notes, template=True)


def _maker(owner: View | None) -> dict[str, str]:
    """Say who makes a pod anew once it is gone."""
    if owner is None or not owner.flag("controller"):
        return {}
    kind, group = owner.text("kind"), owner.text("apiVersion").rpartition("/")[0]
    if kind == "Job" and group not in ("", "batch"):
        kind = f"{kind}.{group}"  # it is no Job of Kubernetes' own, with a backoffLimit
    return {"owner_kind": kind, "owner_uid": owner.text("uid")}


def health_of(pod: View) -> str:
    """Say whether a bound pod is ready, as the Eviction API sees it."""
    if pod.at("status").text("phase") == "Pending":
        return "starting"
    return "ready" if pod.ready else "unready"


def _workload(ref: View) -> WorkloadRef | None:
    if not ref.text("name"):
        return None
    return WorkloadRef(ref.text("name"), ref.text("podGroup"), ref.text("podGroupReplicaKey"))


POLICIES = ("", "PreemptLowerPriority", "Never")


def grace_period(spec: View) -> int | None:
    """Seconds that a pod is given to end."""
    seconds = spec.integer("terminationGracePeriodSeconds", 0, 2**63 - 1)
    return None if seconds is None else bounded(seconds)


def not_modelled(
    spec: View, annotations: dict[str, str], requests: dict[str, int], *, namespaces_told: bool
) -> tuple[Feature, ...]:
    """Name what a pod asks for that is not modelled, or that the input does not tell."""
    asks: dict[Feature, bool] = {
        "claims": any(
            "persistentVolumeClaim" in volume or "ephemeral" in volume
            for volume in spec.list("volumes")
        ),
        "gpu-shares": any(name in annotations for name in ("gpu-fraction", "gpu-memory"))
        or asks_for_part(requests)
        or any(map(is_card_share, requests)),
        "namespaces": not namespaces_told,
        "resource-claims": next(iter(spec.list("resourceClaims")), None) is not None,
    }
    return tuple(name for name, asked in asks.items() if asked)
