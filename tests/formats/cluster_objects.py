"""Small Kubernetes objects to build inputs from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kantopt.formats.imported import Imported
from kantopt.formats.kubernetes.dump import import_kubernetes
from kantopt.schema.consistency import check_snapshot
from kantopt.schema.job_consistency import check_jobs
from kantopt.schema.jobs import Job

Object = dict[str, Any]


def node(name: str, labels: Object | None = None, **offered: str) -> Object:
    """A ready node of 8 cores, 32 GiB and 8 GPUs."""
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "8"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {},
        "status": {"allocatable": {**allocatable, **offered}},
    }


def pod(
    name: str,
    *,
    on: str = "",
    owner: str = "ReplicaSet/app",
    namespace: str = "default",
    labels: Object | None = None,
    annotations: Object | None = None,
    requests: Object | None = None,
    phase: str = "",
    metadata: Object | None = None,
    **spec: Any,
) -> Object:
    """A pod of one container, running on a node if ``on`` names one."""
    kind, _, owner_name = owner.partition("/")
    owners = [{"kind": kind, "name": owner_name, "uid": owner, "controller": True}] if owner else []
    resources = {"requests": {"cpu": "1"} if requests is None else requests}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "labels": labels or {},
            "annotations": annotations or {},
            "ownerReferences": owners,
            **(metadata or {}),
        },
        "spec": {"containers": [{"name": "c", "resources": resources}], "nodeName": on, **spec},
        "status": {"phase": phase or ("Running" if on else "Pending")},
    }


def thing(version: str, kind: str, name: str, namespace: str = "default", **spec: Any) -> Object:
    """Any object with a spec; a ClusterQueue takes jobs of all namespaces unless told."""
    if kind == "ClusterQueue":
        spec = {"namespaceSelector": {}, **spec}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def read(*objects: Object, **options: Any) -> Imported:
    """Import, and make sure that what comes out is sound by our own rules."""
    imported = import_kubernetes(objects, file="dump.json", **options)
    assert check_snapshot(imported.snapshot, "dump.json") == []
    assert check_jobs(imported.pending.jobs, imported.snapshot, "dump.json") == []
    return imported


def job(jobs: Sequence[Job], name: str) -> Job:
    """The job of a name."""
    return next(item for item in jobs if item.name == name)


def noted(imported: Imported, words: str) -> str:
    """The one note that has some words in it."""
    found = [line for line in imported.notes if words in line]
    assert len(found) == 1, imported.notes
    return found[0]
