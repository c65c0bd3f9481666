"""A cluster in memory that behaves like one towards evictions, gates, cordons and owners.

Time is counted in looks: each list of pods that somebody asks for is a moment. Nothing sleeps.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"


class RefusedError(Exception):
    """What an API server answers instead of doing it."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


@dataclass
class Budget:
    """At least so many of the pods with a label have to be ready."""

    namespace: str
    label: tuple[str, str]
    least: int


@dataclass
class Cluster:
    """Objects, what happens to them, and what was asked."""

    nodes: dict[str, Object]
    pods: dict[str, Object]
    """By uid."""
    budgets: list[Budget] = field(default_factory=list)
    uid: str = "cluster-1"
    leave_after: int = 2
    """Looks until a pod that is being deleted is gone."""
    binds_at_once: bool = False
    """Whether the scheduler is so quick that a replacement has a node when the eviction returns."""
    ready_after: int = 1
    """Looks from a pod's start until it is ready."""
    prefers: dict[str, list[str]] = field(default_factory=dict)
    """Nodes where pods of an owner start, if they can, in this order."""
    never_ready: set[str] = field(default_factory=set)
    """Owners whose new pods never get ready."""
    now: int = 0
    done: list[tuple[str, ...]] = field(default_factory=list)
    """What was done: evict, UID; gate, UID, NAME; pin, UID, NODE; cordon or uncordon, NODE."""
    _numbers: Any = field(default_factory=lambda: itertools.count(1000))
    _until: dict[str, int] = field(default_factory=dict)
    _started: dict[str, int] = field(default_factory=dict)
    _again_uids: set[str] = field(default_factory=set)

    def by_name(self, namespace: str, name: str) -> Object:
        """Find a pod."""
        for pod in self.pods.values():
            if (pod["metadata"]["namespace"], pod["metadata"]["name"]) == (namespace, name):
                return pod
        raise RefusedError(404, "NotFound", f'pods "{name}" not found')

    def touch(self, item: Object) -> None:
        """Give an object a new version."""
        item["metadata"]["resourceVersion"] = str(next(self._numbers))

    def evict(self, namespace: str, name: str, body: Object, *, dry: bool) -> None:
        """Evict a pod as the API does."""
        pod = self.by_name(namespace, name)
        metadata, options = pod["metadata"], body.get("deleteOptions", {})
        for key, value in options.get("preconditions", {}).items():
            if metadata[key] != value:
                raise RefusedError(
                    409, "Conflict", f"Precondition failed: {key} is {metadata[key]}"
                )
        budgets = [b for b in self.budgets if self._matches(b, pod)]
        if len(budgets) > 1:
            text = "This pod has more than one PodDisruptionBudget"
            raise RefusedError(500, "InternalError", text)
        for budget in budgets:
            ready = sum(self._matches(budget, p) and self._is_ready(p) for p in self.pods.values())
            if self._is_ready(pod) and ready - 1 < budget.least:
                text = "Cannot evict pod as it would violate the pod's disruption budget."
                raise RefusedError(429, "TooManyRequests", text)
        if dry or "deletionTimestamp" in metadata:
            return
        self.done.append(("evict", metadata["uid"]))
        metadata["deletionTimestamp"] = "2026-09-01T04:00:00Z"
        self.touch(pod)
        self._until[metadata["uid"]] = self.now + self.leave_after
        if self._owner(pod).get("kind") == "ReplicaSet":
            new = self._again(pod)
            if self.binds_at_once:
                self._schedule(new)

    def patch_pod(self, namespace: str, name: str, patch: list[Object], *, dry: bool) -> Object:
        """Patch a pod, as far as its gates allow it."""
        pod = self.by_name(namespace, name)
        new = copy.deepcopy(pod)
        for step in patch:
            _apply(new, step)
        before, after = pod["spec"], new["spec"]
        old_gates = [g["name"] for g in before.get("schedulingGates", [])]
        gates = [g["name"] for g in after.get("schedulingGates", [])]
        if not set(gates) <= set(old_gates):
            raise RefusedError(422, "Invalid", "only deletion of scheduling gates is allowed")
        old, selector = before.get("nodeSelector", {}), after.get("nodeSelector", {})
        if old != selector and (not old_gates or not old.items() <= selector.items()):
            raise RefusedError(422, "Invalid", "spec.nodeSelector: only additions are allowed")
        if dry:
            return new
        uid = pod["metadata"]["uid"]
        if selector != old:
            self.done.append(("pin", uid, selector[HOSTNAME]))
        self.done += [("gate", uid, gate) for gate in old_gates if gate not in gates]
        pod.clear()
        pod.update(new)
        self.touch(pod)
        return pod

    def patch_node(self, name: str, patch: Object, *, dry: bool) -> Object:
        """Merge a patch into a node."""
        if name not in self.nodes:
            raise RefusedError(404, "NotFound", f'nodes "{name}" not found')
        node = self.nodes[name]
        version = patch.get("metadata", {}).get("resourceVersion")
        if version is not None and version != node["metadata"]["resourceVersion"]:
            raise RefusedError(409, "Conflict", "the object has been modified")
        new = _merged(node, patch)
        if dry:
            return new
        was, is_ = (bool(item["spec"].get("unschedulable")) for item in (node, new))
        if was != is_:
            self.done.append(("cordon" if is_ else "uncordon", name))
        self.nodes[name] = new
        self.touch(new)
        return new

    def recreate(self, uid: str) -> None:
        """Somebody deletes a pod, and another of its name takes its place."""
        self._again(self.pods.pop(uid), same_name=True)

    def cordoned(self) -> set[str]:
        """Names of the nodes that take no pods."""
        return {name for name, node in self.nodes.items() if node["spec"].get("unschedulable")}

    def look(self) -> None:
        """Let a moment pass: pods end, owners make others, the scheduler finds places."""
        self.now += 1
        for uid, moment in list(self._until.items()):
            if moment <= self.now:
                del self._until[uid]
                pod = self.pods.pop(uid, None)
                if pod is not None and self._owner(pod).get("kind") in ("StatefulSet", "Job"):
                    self._again(pod)
        for pod in sorted(self.pods.values(), key=lambda p: -p["spec"].get("priority", 0)):
            self._schedule(pod)
            uid = pod["metadata"]["uid"]
            started = self._started.get(uid)
            if started is None or self._owner(pod).get("uid") in self.never_ready:
                continue
            if started + self.ready_after <= self.now:
                del self._started[uid]
                pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
                self.touch(pod)

    def _schedule(self, pod: Object) -> None:
        spec = pod["spec"]
        if spec.get("nodeName") or spec.get("schedulingGates"):
            return
        wished = self.prefers.get(self._owner(pod).get("uid", ""), [])
        for name in [*wished, *sorted(set(self.nodes) - set(wished))]:
            node = self.nodes.get(name)
            if node is None or node["spec"].get("unschedulable"):
                continue
            labels = node["metadata"]["labels"]
            if not spec.get("nodeSelector", {}).items() <= labels.items():
                continue
            if self._room(name) >= _gpus(pod):
                spec["nodeName"] = name
                pod["status"] = {"phase": "Running", "conditions": []}
                self._started[pod["metadata"]["uid"]] = self.now
                self.touch(pod)
                return
        self._preempt(pod)

    def _preempt(self, pod: Object) -> None:
        """Take what came back, and is less important, off the one node where a pod may go."""
        selector = pod["spec"].get("nodeSelector", {})
        fitting = [
            name
            for name, node in self.nodes.items()
            if selector.items() <= node["metadata"]["labels"].items()
        ]
        if HOSTNAME not in selector or not fitting or fitting[0] in self.cordoned():
            return
        for uid in sorted(self._again_uids & self.pods.keys()):
            other = self.pods[uid]
            lesser = other["spec"]["priority"] < pod["spec"]["priority"]
            if lesser and other["spec"].get("nodeName") == fitting[0]:
                del self.pods[uid]
                self._again(other)
                return

    def _room(self, name: str) -> int:
        held = sum(_gpus(p) for p in self.pods.values() if p["spec"].get("nodeName") == name)
        return int(self.nodes[name]["status"]["allocatable"]["nvidia.com/gpu"]) - held

    def _again(self, pod: Object, *, same_name: bool = False) -> Object:
        new, number = copy.deepcopy(pod), next(self._numbers)
        metadata = new["metadata"]
        metadata.pop("deletionTimestamp", None)
        kind = self._owner(pod).get("kind")
        if not same_name and kind != "StatefulSet":
            metadata["name"] = f"{metadata['name'].rpartition('-')[0]}-{number}"
        metadata["uid"] = f"uid-{number}"
        new["spec"].pop("nodeName", None)
        new["status"] = {"phase": "Pending", "conditions": []}
        self.touch(new)
        self.pods[metadata["uid"]] = new
        self._again_uids.add(metadata["uid"])
        return new

    @staticmethod
    def _owner(pod: Object) -> Object:
        owners: list[Object] = pod["metadata"].get("ownerReferences", [])
        return owners[0] if owners else {}

    @staticmethod
    def _is_ready(pod: Object) -> bool:
        ready = {"type": "Ready", "status": "True"} in pod["status"].get("conditions", [])
        return ready and "deletionTimestamp" not in pod["metadata"]

    @staticmethod
    def _matches(budget: Budget, pod: Object) -> bool:
        key, value = budget.label
        metadata = pod["metadata"]
        return metadata["namespace"] == budget.namespace and metadata["labels"].get(key) == value


def _gpus(pod: Object) -> int:
    requests = pod["spec"]["containers"][0].get("resources", {}).get("requests", {})
    return int(requests.get("nvidia.com/gpu", 0))


def _apply(item: Any, step: Object) -> None:
    """Apply one operation of a JSON patch."""
    parts = [p.replace("~1", "/").replace("~0", "~") for p in step["path"].split("/")[1:]]
    for part in parts[:-1]:
        try:
            item = item[int(part)] if isinstance(item, list) else item[part]
        except (KeyError, IndexError):
            raise RefusedError(422, "Invalid", "the server rejected our request") from None
    key: Any = int(parts[-1]) if isinstance(item, list) else parts[-1]
    there = key < len(item) if isinstance(item, list) else key in item
    if step["op"] == "add":
        item[key] = step["value"]
    elif not there or (step["op"] == "test" and item[key] != step["value"]):
        raise RefusedError(422, "Invalid", "the server rejected our request due to an error in it")
    elif step["op"] == "remove":
        del item[key]


def _merged(item: Any, patch: Any) -> Any:
    """Merge as RFC 7386 has it."""
    if not isinstance(patch, dict):
        return patch
    new = dict(item) if isinstance(item, dict) else {}
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = _merged(new.get(key), value)
    return new
