"""Kubernetes objects out of lists, each told by apiVersion and kind together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kantopt.errors import Problem
from kantopt.formats.kubernetes.namespaces import Namespaces
from kantopt.formats.notes import Notes
from kantopt.formats.view import Key, View
from kantopt.schema.hints import shown

KINDS = frozenset(
    (group, kind)
    for group, kinds in (
        ("", ("Node", "Pod", "Namespace", "PersistentVolumeClaim", "PersistentVolume")),
        ("storage.k8s.io", ("StorageClass", "CSIDriver", "CSINode", "CSIStorageCapacity")),
        ("storage.k8s.io", ("VolumeAttachment",)),
        ("resource.k8s.io", ("ResourceClaim", "ResourceSlice", "DeviceClass")),
        ("apps", ("ReplicaSet", "StatefulSet")),
        ("batch", ("Job",)),
        ("jobset.x-k8s.io", ("JobSet",)),
        ("ray.io", ("RayCluster",)),
        ("batch.volcano.sh", ("Job",)),
        ("policy", ("PodDisruptionBudget",)),
        ("scheduling.k8s.io", ("PriorityClass", "PodGroup", "Workload")),
        ("scheduling.run.ai", ("PodGroup", "Queue", "BindRequest")),
        ("scheduling.koordinator.sh", ("Reservation", "ClusterNetworkTopology")),
        ("scheduling.volcano.sh", ("PodGroup", "Queue")),
        ("scheduling.x-k8s.io", ("PodGroup",)),
        ("scheduling.sigs.k8s.io", ("PodGroup",)),
        ("topology.volcano.sh", ("HyperNode",)),
        ("leaderworkerset.x-k8s.io", ("LeaderWorkerSet",)),
        ("kai.scheduler", ("Topology",)),
        ("kueue.x-k8s.io", ("AdmissionCheck", "Topology", "ClusterQueue", "Cohort")),
        ("kueue.x-k8s.io", ("ResourceFlavor", "LocalQueue", "Workload")),
    )
    for kind in kinds
)
"""API groups and kinds that the import reads; the core group is empty."""

VERSIONS = {
    "scheduling.k8s.io": ("v1", "v1alpha1", "v1alpha2", "v1alpha3", "v1beta1"),
    "scheduling.run.ai": ("v2", "v1alpha2", "v2alpha2"),
    "scheduling.koordinator.sh": ("v1alpha1",),
    "kai.scheduler": ("v1alpha1",),
    "scheduling.volcano.sh": ("v1beta1",),
    "batch.volcano.sh": ("v1alpha1",),
    "topology.volcano.sh": ("v1alpha1",),
    "scheduling.x-k8s.io": ("v1alpha1",),
    "scheduling.sigs.k8s.io": ("v1alpha1",),
    "kueue.x-k8s.io": ("v1alpha1", "v1beta1", "v1beta2"),
}
"""Versions whose fields the import knows, of the groups whose versions differ or may come to."""

_ELASTIC = "elastic quotas are not read: they limit nobody"
UNREAD = {
    ("", "ResourceQuota"): (
        "quotas of namespaces are not read: pods that are yet to be made may be refused"
    ),
    ("scheduling.sigs.k8s.io", "ElasticQuota"): _ELASTIC,
    ("scheduling.x-k8s.io", "ElasticQuota"): _ELASTIC,
    ("scheduling.k8s.io", "CompositePodGroup"): (
        "groups of pod groups are not read: each of these starts by itself"
    ),
}
"""What to say of kinds that are not read although a plan would differ."""

_FETCHED = {("", "Event"), ("apps", "Deployment"), ("apps", "DaemonSet")}
"""Kinds to ask for beside those (docs/kubernetes.md): two dumps tell more with them."""


def flatten(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a ``List`` (or ``PodList``, ...), or the object itself in a list.

    Entries that are no mappings are kept; the import reports them with their place.
    """
    kind = data.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("items"), list):
        # The items of a PodList bear neither apiVersion nor kind.
        shared = {"apiVersion": data.get("apiVersion"), "kind": kind.removesuffix("List")}
        items: list[dict[str, Any]] = []
        for item in data["items"]:
            if isinstance(item, dict) and kind != "List" and "kind" not in item:
                item = {**shared, **item}
            items.extend(flatten(item) if isinstance(item, dict) else [item])
        return items
    return [data]


class Objects:
    """Objects by API group and kind. A version that is not known is read like those that are.

    Four groups have a ``PodGroup`` and two each a ``Queue``, a ``Topology`` and a ``Workload``:
    the kind alone says nothing.
    """

    def __init__(self, objects: Sequence[dict[str, Any]], file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.notes = Notes()
        """What reading them leaves out or takes for granted."""
        self.ignored: list[tuple[str, str]] = []
        """Group and kind of what is not read."""
        self.strange: list[tuple[str, str]] = []
        """Kind and apiVersion of what is read in a version that is not known."""
        self._by_kind: dict[tuple[str, str], list[View]] = {}
        seen: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        for i, item in enumerate(objects):
            if not isinstance(item, dict):
                path = f"items[{i}]"
                self.problems.append(Problem(file, path, shown(item), "a Kubernetes object"))
                continue
            view = View(item, file, ("items", i), self.problems)
            version, kind = view.name("apiVersion"), view.name("kind")
            group = version.rpartition("/")[0]
            if (group, kind) == ("", "Status") and item.get("status") != "Success":
                # The API server says so in the place of what it was asked for.
                view.problem("message", "the objects that were asked for")
            if (group, kind) not in KINDS:
                if version and kind and (group, kind) not in _FETCHED:
                    self.ignored.append((group, kind))
                continue
            if version.rpartition("/")[2] not in VERSIONS.get(group, (version.rpartition("/")[2],)):
                self.strange.append((kind, version))
            metadata = view.at("metadata")
            key = (group, kind, metadata.text("namespace"), metadata.name())
            if seen.setdefault(key, item) is not item:
                # The same object in two files is one object; two states of it are a mistake.
                if seen[key] != item:
                    hint = f"{kind} {key[2]}/{key[3]}".replace(" /", " ")
                    metadata.problem("name", f"each {kind} once", f"{hint} differs from the first")
                continue
            self._by_kind.setdefault((group, kind), []).append(view)

    def of(self, group: str, kind: str) -> list[View]:
        """Objects of one kind of one API group, in the order of the file."""
        return self._by_kind.get((group, kind), [])

    def pods(self) -> list[View]:
        """Pods that hold room or wait for some."""
        return [pod for pod in self.of("", "Pod") if not ended(pod)]

    @cached_property
    def namespaces(self) -> Namespaces:
        """Namespaces of which there is an object, or that a pod is in."""
        labels = {view.at("metadata").name(): view.labels for view in self.of("", "Namespace")}
        return Namespaces((pod.key[0] for pod in self.of("", "Pod")), labels)

    def cluster_uid(self) -> str:
        """Return what tells a cluster from others: kube-system lives as long; empty: not known."""
        system = self.named("", "Namespace").get("kube-system")
        return "" if system is None else system.uid

    def named(self, group: str, kind: str) -> dict[str, View]:
        """Objects of one kind by name, where they are in no namespace."""
        return {view.at("metadata").text("name"): view for view in self.of(group, kind)}

    def by_name(self, group: str, kind: str) -> dict[Key, View]:
        """Objects of one kind by namespace and name."""
        return {
            (view.at("metadata").text("namespace"), view.at("metadata").text("name")): view
            for view in self.of(group, kind)
        }


def ended(pod: View) -> bool:
    """Whether a pod has ended and holds no room."""
    return pod.at("status").text("phase") in ("Succeeded", "Failed")
