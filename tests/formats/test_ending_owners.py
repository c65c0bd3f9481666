"""Owners that make no pod anew as they stand are named: what is moved of them is gone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import node, noted, pod, read, thing

NOTE = "owners that make none of their pods anew"
DONE = [{"type": "SuccessCriteriaMet", "status": "True"}]
GOING = {"deletionTimestamp": "2026-09-01T00:00:00Z"}


def owner(
    kind: str, conditions: Any = (), metadata: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """An owner with the uid by which :func:`pods` name it."""
    found = thing("batch/v1" if kind == "Job" else "apps/v1", kind, "o", **spec)
    found["metadata"] |= {"uid": f"{kind}/o", **(metadata or {})}
    return {**found, "status": {"conditions": list(conditions)}}


def pods(kind: str, count: int = 2, **fields: Any) -> list[dict[str, Any]]:
    return [pod(f"o-{i}", on="a", owner=f"{kind}/o", **fields) for i in range(count)]


@pytest.mark.parametrize(
    ("kind", "fields", "why"),
    [
        ("Job", {"suspend": True}, "is suspended"),
        ("Job", {"conditions": DONE}, "is SuccessCriteriaMet"),
        ("Job", {"metadata": GOING}, "is being deleted"),
        ("ReplicaSet", {"replicas": 0}, "wants 0 of 2"),
        ("ReplicaSet", {"replicas": 1}, "wants 1 of 2"),
        ("StatefulSet", {"replicas": 1}, "wants 1 of 2"),
    ],
)
def test_an_owner_that_makes_no_pod_anew_is_named(
    kind: str, fields: dict[str, Any], why: str
) -> None:
    imported = read(node("a"), owner(kind, **fields), *pods(kind))
    assert noted(imported, NOTE).endswith(f": 1 ({kind} default/o {why})")
    assert all(job.movable for job in imported.snapshot.jobs)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("Job", {}),
        ("Job", {"suspend": False, "conditions": [{"type": "Complete", "status": "False"}]}),
        ("ReplicaSet", {}),
        ("ReplicaSet", {"replicas": 2}),
        ("StatefulSet", {"replicas": 3}),
    ],
)
def test_an_owner_that_replaces_its_pods_is_not(kind: str, fields: dict[str, Any]) -> None:
    imported = read(node("a"), owner(kind, **fields), *pods(kind))
    assert not any(NOTE in line for line in imported.notes)


def test_owners_whose_pods_are_not_moved_are_not_named() -> None:
    stays = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    for fields in ({"annotations": stays}, {"metadata": GOING}):
        made = pods("ReplicaSet", **fields)
        for item in made:
            item["metadata"]["ownerReferences"] = pods("ReplicaSet")[0]["metadata"][
                "ownerReferences"
            ]
        imported = read(node("a"), owner("ReplicaSet", replicas=0), *made)
        assert not any(NOTE in line for line in imported.notes)
