"""Kubernetes objects as ``kubectl`` shows them, for inputs that are made up."""

from __future__ import annotations

import hashlib
from typing import Any

GPU = "nvidia.com/gpu"
GPU_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
CREATED = "2026-09-01T02:00:00Z"

Object = dict[str, Any]


def uid(*words: str) -> str:
    """Make a uid that depends on nothing but the object's name."""
    text = hashlib.sha256("/".join(words).encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def thing(version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
    """Make an object with the metadata that every object has."""
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    version_of_object = str(100_000 + int(uid(kind, namespace, name)[:4], 16))
    metadata |= {
        "uid": uid(kind, namespace, name),
        "resourceVersion": version_of_object,
        "creationTimestamp": CREATED,
    }
    metadata |= rest.pop("metadata", {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def pod(
    namespace: str,
    name: str,
    requests: Object,
    *,
    node: str = "",
    owner: tuple[str, str] | None = None,
    labels: Object | None = None,
    annotations: Object | None = None,
    priority: tuple[str, int] = ("", 0),
    phase: str = "",
    metadata: Object | None = None,
    **spec: Any,
) -> Object:
    """Make a pod of one container, bound if ``node`` is given."""
    meta: Object = {"labels": labels or {}, **(metadata or {})}
    if annotations:
        meta["annotations"] = annotations
    if owner is not None:
        kind, owner_name = owner
        version = "v1" if kind == "Node" else "batch/v1" if kind == "Job" else "apps/v1"
        meta["ownerReferences"] = [
            {
                "apiVersion": version,
                "kind": kind,
                "name": owner_name,
                "uid": uid(kind, namespace, owner_name),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    resources: Object = {"requests": requests}
    container = {"name": "main", "image": "example.org/main:1", "resources": resources}
    body: Object = {
        "containers": [container],
        "priority": priority[1],
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
    }
    if priority[0]:
        body["priorityClassName"] = priority[0]
    if GPU in requests:
        resources["limits"] = {GPU: requests[GPU]}
        body["tolerations"] = [GPU_TOLERATION]
    if node:
        body["nodeName"] = node
    status: Object = {"phase": phase or ("Running" if node else "Pending")}
    if node:
        status["startTime"] = "2026-09-01T02:01:00Z"
    return thing("v1", "Pod", name, namespace, metadata=meta, spec={**body, **spec}, status=status)
