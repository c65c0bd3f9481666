"""Which gang a pod belongs to, by the references of the common gang schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kantopt.formats.kubernetes.demands import Wish, read_wish
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.view import json_of


class Dialect(StrEnum):
    """Who schedules a gang."""

    NATIVE = "scheduling.k8s.io"
    WORKLOAD = "scheduling.k8s.io/workload"
    """Of Kubernetes 1.35, where a Workload lists its pod groups."""
    KAI = "scheduling.run.ai"
    VOLCANO = "scheduling.volcano.sh"
    PLUGINS = "scheduling.x-k8s.io"
    KUEUE = "kueue.x-k8s.io"
    KOORDINATOR = "gang.scheduling.koordinator.sh"
    YUNIKORN = "yunikorn.apache.org"


@dataclass(frozen=True, slots=True)
class GangRef:
    """A gang that a pod names, and the pod's role in it if it has one."""

    dialect: Dialect
    namespace: str
    name: str
    role: str = ""


_SCHEDULERS = {"kai-scheduler": Dialect.KAI, "volcano": Dialect.VOLCANO}


def scheduled_by(pod: Pod, gang: GangRef | None) -> Dialect | None:
    """Return which of KAI and Volcano schedules a pod, if either does and not by Kueue's leave."""
    if pod.local_queue:
        return None
    if gang is not None and gang.dialect in _SCHEDULERS.values():
        return gang.dialect
    return _SCHEDULERS.get(pod.scheduler)


PODSET = "kueue.x-k8s.io/podset"
"""Label that names the part of its Workload that a pod is of."""
_KAI_GROUP = "pod-group-name"
_VOLCANO_GROUPS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
_YUNIKORN_LABELS = (f"{Dialect.YUNIKORN}/app-id", "applicationId", "spark-app-selector")
"""Labels that name the application of a pod, where its annotation does not."""
_PLUGIN_GROUPS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


def gang_of(pod: Pod) -> GangRef | None:
    """Return the gang that a pod names; ``None`` if every pod stands for itself."""
    labels, annotations = pod.labels, pod.annotations

    def ref(dialect: Dialect, name: str, role: str = "") -> GangRef:
        namespace, _, short = name.rpartition("/")
        return GangRef(dialect, namespace or pod.namespace, short, role)

    if pod.workload is not None:
        own = pod.workload
        name = ".".join(part for part in (own.name, own.group, own.replica) if part)
        return GangRef(Dialect.WORKLOAD, pod.namespace, name)
    if pod.group_name:
        return ref(Dialect.NATIVE, pod.group_name)
    if annotations.get(_KAI_GROUP):
        role = labels.get("kai.scheduler/subgroup-name", "")
        return ref(Dialect.KAI, annotations[_KAI_GROUP], role)
    for key in _VOLCANO_GROUPS:
        if annotations.get(key):
            role = annotations.get("volcano.sh/task-spec", "")
            return ref(Dialect.VOLCANO, annotations[key], role)
    for key in _PLUGIN_GROUPS:
        if labels.get(key):
            return ref(Dialect.PLUGINS, labels[key])
    name = annotations.get(f"{Dialect.KOORDINATOR}/name", "")
    if name:
        return ref(Dialect.KOORDINATOR, name)
    role = annotations.get(f"{Dialect.YUNIKORN}/task-group-name", "")
    name = annotations.get(_YUNIKORN_LABELS[0], "") or next(
        (labels[key] for key in _YUNIKORN_LABELS if labels.get(key)), ""
    )
    if role and name:
        return GangRef(Dialect.YUNIKORN, pod.namespace, name, role)
    return _kueue_gang(pod)


def names_workload(pod: Pod) -> str:
    """Return the name of the Workload of Kueue's that a pod is known to belong to, if any."""
    group = pod.labels.get("kueue.x-k8s.io/pod-group-name", "")
    return group or pod.annotations.get("kueue.x-k8s.io/workload", pod.kueue_workload)


def _kueue_gang(pod: Pod) -> GangRef | None:
    """Kueue admits a pod group or a Workload as a whole."""
    role = pod.labels.get(PODSET, pod.kueue_role)
    name = names_workload(pod)
    if name:
        return GangRef(Dialect.KUEUE, pod.namespace, name, role)
    if pod.local_queue and pod.owner_kind in _WHOLE:
        return GangRef(Dialect.KUEUE, pod.namespace, pod.owner_name, role)
    return None


_WHOLE = ("Job", "JobSet", "PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "PaddleJob", "RayCluster")
"""Owners whose pods Kueue admits together; those of a Deployment it admits one by one."""


def level_wish(pod: Pod) -> Wish:
    """Return the topology that a pod's own annotations ask for (Kueue and KAI).

    Keys are those of a topology request; levels are named as in the annotations.
    """
    annotations = pod.annotations
    told = {
        field: next((annotations[name] for name in names if annotations.get(name)), "")
        for field, names in _WISHES.items()
    }
    size = told.pop("pod_set_slice_size")
    return read_wish(
        told, int(size) if size.isdecimal() else None, json_of(annotations.get(_LAYERS, ""))
    )


_LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
_WISHES = {
    "required": (
        "kueue.x-k8s.io/podset-required-topology",
        "kai.scheduler/topology-required-placement",
    ),
    "preferred": (
        "kueue.x-k8s.io/podset-preferred-topology",
        "kai.scheduler/topology-preferred-placement",
    ),
    "pod_set_slice_required_topology": (
        "kueue.x-k8s.io/podset-slice-required-topology",
        "kai.scheduler/segment-topology-required-placement",
    ),
    "pod_set_slice_size": ("kueue.x-k8s.io/podset-slice-size", "kai.scheduler/segment-size"),
}
