"""Dump pairs in which pods claim devices, or volumes that nodes attach."""

from __future__ import annotations

from tests.formats.cluster_objects import Object
from tests.formats.device_objects import (
    claim,
    device,
    device_class,
    exactly,
    given,
    resource_slice,
)
from tests.planning.dump_histories import JOB, MORE, PREEMPTED, on
from tests.planning.dump_pairs import DumpPair, ended, made, n, p

BIG = "device.capacity['gpu.x'].size.isGreaterThan(quantity('40Gi'))"
SLICES = [resource_slice("a", "g0"), resource_slice("b", device("g0", "80Gi"))]
NODES = [n("a"), n("b"), device_class(), *SLICES]
SHUT = [n("a", unschedulable=True), *NODES[1:]]


def user(name: str, node: str = "", cpu: str = "1", **options: object) -> Object:
    """A pod with a claim of its own, that was generated."""
    template = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    found = p(name, node, cpu, resourceClaims=template, **{"owner": f"ReplicaSet/{name}"} | options)
    made_for = [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]
    return {**found, "status": {**found["status"], "resourceClaimStatuses": made_for}}


def for_pod(name: str, node: str = "", *where: str) -> Object:
    """The claim of such a pod, allocated if a node is named."""
    found = claim(f"{name}-gpu", exactly(1, *where))
    owner = {"kind": "Pod", "name": name, "uid": f"uid-{name}", "controller": True}
    found["metadata"]["ownerReferences"] = [owner]
    return given(found, node, "g0", by=(f"uid-{name}",)) if node else found


def started(of: Object, node: str) -> Object:
    """A pod that has a node since, with its claims."""
    found = on(of, node)
    return {**found, "status": {**of["status"], "phase": "Running"}}


def bound_volume(name: str) -> list[Object]:
    """A claim and its volume."""
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{name}"},
            "spec": {"csi": {"driver": "x.csi", "volumeHandle": name}},
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": {"volumeName": f"pv-{name}"},
            "status": {"phase": "Bound"},
        },
    ]


def attaches(name: str) -> Object:
    """A node attaches one volume."""
    driver = {"name": "x.csi", "nodeID": name, "allocatable": {"count": 1}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def mounts(name: str, node: str) -> Object:
    """A pod with a volume of its name."""
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}}]
    return p(name, node, owner=f"StatefulSet/{name}", volumes=volumes)


LIMITED = [n("a"), n("b"), attaches("a"), attaches("b"), *bound_volume("p"), *bound_volume("q")]
WORKER = user("train-1", "a", "4", owner="Job/train")
WEB = user("web-1", "a", "4", owner="ReplicaSet/app")
P, Q = user("p"), user("q")
FIRST = user("first", priority=100)
CLAIMED = [
    DumpPair(
        "claims were allocated since",
        [*NODES, P, Q, for_pod("p"), for_pod("q")],
        [*NODES, started(P, "a"), started(Q, "b"), for_pod("p", "a"), for_pod("q", "b")],
    ),
    DumpPair(
        "a pod came with its claim",
        [*NODES, P, for_pod("p")],
        [*NODES, started(P, "a"), started(Q, "b"), for_pod("p", "a"), for_pod("q", "b")],
    ),
    DumpPair(
        "a pod that waits has nowhere to go",
        [*NODES, P, Q, user("r"), for_pod("p"), for_pod("q"), for_pod("r")],
        [
            *NODES,
            *(started(P, "a"), started(Q, "b"), user("r")),
            *(for_pod("p", "a"), for_pod("q", "b"), for_pod("r")),
        ],
    ),
    DumpPair(
        "the only device that suits another was given away",
        [*NODES, FIRST, Q, for_pod("first", "", BIG), for_pod("q")],
        [*NODES, FIRST, started(Q, "b"), for_pod("first", "", BIG), for_pod("q", "b")],
        verdict="BETTER",
        tier="unplaced[priority=100, CPU-only pods]",
    ),
    DumpPair(
        "a pod with a claim could have been placed",
        [*NODES, P, for_pod("p")],
        [*NODES, P, for_pod("p")],
        verdict="BETTER",
        tier="unplaced[priority=0, CPU-only pods]",
    ),
    DumpPair(
        "a device was free again, its pod finished",
        [*NODES, JOB, WORKER, P, for_pod("train-1", "a"), for_pod("p")],
        [
            *NODES,
            *(made("Job", "train", true=["Complete"]), ended(WORKER)),
            *(started(P, "a"), for_pod("p", "a")),
        ],
        became={"train-1": "finished"},
    ),
    DumpPair(
        "preempted, and its claim with it",
        [*NODES, WEB, MORE, user("keeps", "b", "4", priority=200), for_pod("web-1", "a")],
        [
            *(*NODES, ended(WEB, "Failed", PREEMPTED), on(MORE, "a")),
            user("keeps", "b", "4", priority=200),
        ],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "drained, replaced with another claim on another node",
        [*NODES, WEB, for_pod("web-1", "a")],
        [
            *(*SHUT, ended(WEB, "Failed", "EvictionByEvictionAPI")),
            *(user("web-2", "b", "4", owner="ReplicaSet/app"), for_pod("web-2", "b")),
        ],
        became={"web-1": "drained"},
    ),
    DumpPair(
        "pods came with a volume each, to nodes that attach one",
        LIMITED,
        [*LIMITED, mounts("p", "a"), mounts("q", "b")],
    ),
    DumpPair(
        "pods came with a volume each, to one node that attaches one",
        LIMITED,
        [*LIMITED, mounts("p", "a"), mounts("q", "a")],
        verdict="ILLEGAL",
        faults=("capacity",),
    ),
    DumpPair(
        "a device was given twice",
        NODES,
        [*NODES, started(P, "a"), started(Q, "a"), for_pod("p", "a"), for_pod("q", "a")],
        verdict="ILLEGAL",
        faults=("capacity",),
    ),
]
