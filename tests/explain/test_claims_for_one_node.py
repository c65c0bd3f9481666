"""Pods that wait with a claim for one node at a time are kept on one node, and that is said."""

from __future__ import annotations

from typing import Any

import pytest

import kantopt
from tests.formats.cluster_objects import node, pod

CLAIM: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "namespace": "default",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "pv"},
        "status": {"phase": "Bound"},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}},
        "status": {"phase": "Bound"},
    },
]


@pytest.mark.parametrize("tied", [True, False])
def test_nobody_is_told_to_part_pods_that_a_claim_keeps_together(*, tied: bool) -> None:
    """Elsewhere they would wait for it; what keeps them together is named in the conflict."""
    uses = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}] if tied else []
    nodes = [node(name, {"kubernetes.io/hostname": name}, cpu="2") for name in ("a", "b")]
    users = [
        pod(f"p{i}", requests={"cpu": "1500m"}, owner="ReplicaSet/rs", volumes=uses)
        for i in range(2)
    ]
    dump = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *users, *CLAIM]}
    told = kantopt.explain(dump, job="default/rs", time_limit=60)
    if not tied:
        assert told.verdict.status == "FITS_NOW"
        return
    assert told.verdict.status == "NEVER"
    assert "relax-topology" not in {remedy.kind for remedy in told.remedies}
    assert told.conflict is not None
    said = {item.rule: item.message for item in told.conflict.items}["topology"]
    why = "they wait with default/data, for one node at a time (ReadWriteOnce)"
    assert said == f"all 2 pods in one node: {why}"
