"""One Kubernetes pod, or pod template, as the import sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kantopt.formats.disruption import disruption_cost, owner_of, why_pinned
from kantopt.formats.host_ports import read_host_ports
from kantopt.formats.kubernetes_nodes import (
    bounded,
    read_node_affinity,
    read_selector,
    read_tolerations,
    selector_keys,
)
from kantopt.formats.objects import Notes
from kantopt.formats.pod_requests import pod_requests
from kantopt.formats.view import View
from kantopt.schema.base import Expression, LabelSelector
from kantopt.schema.features import Feature
from kantopt.schema.jobs import PodAntiAffinityTerm, PodRef, TopologySpreadConstraint
from kantopt.schema.quantity import from_base

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


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
    pinned: str
    group_name: str
    workload: WorkloadRef | None
    shape: dict[str, Any]
    selects: frozenset[str]

    @property
    def full_name(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.ref.name}"


def read_pod(
    pod: View, namespaces: Sequence[str], notes: Notes, *, sidecar_ports: bool = True
) -> Pod:
    """Read a pod or a pod template; what has no place in our documents is noted.

    Parameters
    ----------
    pod
        The object.
    namespaces
        All namespaces with pods: what a namespace selector may select.
    notes
        Takes what is left out.
    sidecar_ports
        Whether host ports of sidecars count.
    """
    metadata, spec, status = pod.at("metadata"), pod.at("spec"), pod.at("status")
    annotations, labels = metadata.words("annotations"), metadata.words("labels")
    namespace = metadata.text("namespace") or "default"
    owner = owner_of(metadata)
    name = metadata.name()
    bound = spec.text("nodeName")
    kind = "" if owner is None else owner.text("kind")
    affinity = read_node_affinity(spec)
    if kind == "DaemonSet" and bound:
        # Its controller ties each pod to its node; a pinned pod needs no second tie, which would
        # make every pod of the set unlike the others.
        affinity = ()
    anti = read_anti_affinity(spec, namespace, labels, namespaces, notes)
    spreads = read_spreads(spec, labels, notes)
    selectors = [item.label_selector for item in anti]
    selectors += [item.label_selector for item in spreads]
    return Pod(
        namespace=namespace,
        ref=PodRef(
            name=name or "?",
            uid=metadata.text("uid"),
            resource_version=metadata.text("resourceVersion"),
            scheduling_gates=tuple(gate.name() for gate in spec.list("schedulingGates")),
            grace_period_seconds=grace_period(spec),
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
        terminating="deletionTimestamp" in metadata,
        pinned=why_pinned(pod),
        group_name=spec.at("schedulingGroup").text("podGroupName"),
        workload=_workload(spec.at("workloadRef")),
        shape={
            "requests": {
                name: from_base(name, n)
                for name, n in pod_requests(spec, status if bound else None).items()
            },
            "host_ports": read_host_ports(spec, sidecars=sidecar_ports),
            "node_selector": dict(sorted(spec.words("nodeSelector").items())),
            "node_affinity": affinity,
            "tolerations": read_tolerations(spec, notes),
            "pod_anti_affinity": anti,
            "topology_spread_constraints": spreads,
            "not_modelled": not_modelled(spec, annotations),
            "disruption_cost": None if (cost := disruption_cost(annotations)) == 1 else cost,
        },
        selects=frozenset().union(*(selector_keys(item) for item in selectors)),
    )


def _workload(ref: View) -> WorkloadRef | None:
    if not ref.text("name"):
        return None
    return WorkloadRef(ref.text("name"), ref.text("podGroup"), ref.text("podGroupReplicaKey"))


POLICIES = ("", "PreemptLowerPriority", "Never")


def grace_period(spec: View) -> int | None:
    """Seconds that a pod is given to end."""
    seconds = spec.integer("terminationGracePeriodSeconds", 0, 2**63 - 1)
    return None if seconds is None else bounded(seconds)


def read_anti_affinity(
    spec: View,
    namespace: str,
    labels: dict[str, str],
    namespaces: Sequence[str],
    notes: Notes,
) -> tuple[PodAntiAffinityTerm, ...]:
    """Read the required pod anti-affinity; a term without selector selects nobody."""
    found = []
    for term in spec.at("affinity", "podAntiAffinity").list(REQUIRED):
        if "labelSelector" not in term:
            continue
        selector = _with_own(read_selector(term.at("labelSelector")), term, labels)
        named = term.strings("namespaces")
        if "namespaceSelector" in term:
            if term.at("namespaceSelector").raw:
                text = "namespace selectors of pod anti-affinity are read as all namespaces"
                notes.add(text, namespace)
            named = (*named, *namespaces)
        if set(named) == {namespace}:
            named = ()
        found.append(
            PodAntiAffinityTerm(
                topology_key=term.name("topologyKey") or "?",
                label_selector=selector,
                namespaces=tuple(sorted(set(named))),
            )
        )
    return tuple(found)


def read_spreads(
    spec: View, labels: dict[str, str], notes: Notes
) -> tuple[TopologySpreadConstraint, ...]:
    """Read the topology spread constraints that forbid (``DoNotSchedule``)."""
    found = []
    for item in spec.list("topologySpreadConstraints"):
        if item.text("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        if "labelSelector" not in item:
            continue
        if (
            item.text("nodeAffinityPolicy", "Honor") != "Honor"
            or item.text("nodeTaintsPolicy", "Ignore") != "Ignore"
        ):
            notes.add(
                "spread constraints with a node policy of their own are read with the default one"
            )
        found.append(
            TopologySpreadConstraint(
                max_skew=bounded(item.integer("maxSkew", 1) or 1),
                topology_key=item.name("topologyKey") or "?",
                label_selector=_with_own(read_selector(item.at("labelSelector")), item, labels),
                min_domains=bounded(item.integer("minDomains", 1) or 1),
            )
        )
    return tuple(found)


def _with_own(selector: LabelSelector, term: View, labels: dict[str, str]) -> LabelSelector:
    """Add to a selector the pod's own values of the keys that ``matchLabelKeys`` names."""
    own = [
        Expression(key=key, operator="In", values=(labels[key],))
        for key in term.strings("matchLabelKeys")
        if key in labels
    ]
    own += [
        Expression(key=key, operator="NotIn", values=(labels[key],))
        for key in term.strings("mismatchLabelKeys")
        if key in labels
    ]
    expressions = (*selector.match_expressions, *own)
    return LabelSelector(match_labels=selector.match_labels, match_expressions=expressions)


def not_modelled(spec: View, annotations: dict[str, str]) -> tuple[Feature, ...]:
    """Name what a pod asks for that is not modelled."""
    asks: dict[Feature, bool] = {
        "claims": any(
            "persistentVolumeClaim" in volume or "ephemeral" in volume
            for volume in spec.list("volumes")
        ),
        "gpu-shares": any(name in annotations for name in ("gpu-fraction", "gpu-memory")),
        "pod-affinity": next(iter(spec.at("affinity", "podAffinity").list(REQUIRED)), None)
        is not None,
        "resource-claims": next(iter(spec.list("resourceClaims")), None) is not None,
    }
    return tuple(name for name, asked in asks.items() if asked)
