"""Dump pairs in which more changed than where pods are: sizes, labels, zones, claims, owners."""

from __future__ import annotations

from tests.formats.cluster_objects import Object
from tests.planning.dump_faults import ZONES, apart, even
from tests.planning.dump_histories import A, B
from tests.planning.dump_pairs import DumpPair, made, n, p, waits

THIRD = n("c", labels={"zone": "3"})
SMALL = p("big", "a", "2")
UNREACHABLE = "node.kubernetes.io/unreachable"
CLAIMING = p(
    "db-0",
    "a",
    volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}],
)
NEIGHBOUR = p("x", "a", owner="ReplicaSet/x", labels={"app": "x"})
LONER = p(
    "y",
    "a",
    owner="ReplicaSet/y",
    affinity={
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "zone",
                    "labelSelector": {"matchLabels": {"app": "x"}},
                    "namespaceSelector": {"matchLabels": {"team": "t"}},
                }
            ]
        }
    },
)
"""It keeps away from the pods ``x`` of namespaces of a team."""


def growing(deferred: bool = True) -> Object:
    """A pod of 2 cores that is to have 3."""
    grown = p("big", "a", "3")
    held = {
        "name": "c",
        "allocatedResources": {"cpu": "2"},
        "resources": {"requests": {"cpu": "2"}},
    }
    pending = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    status = {
        **grown["status"],
        "containerStatuses": [held],
        "conditions": [pending] if deferred else [],
    }
    return {**grown, "status": status}


def labelled(of: Object, **labels: str) -> Object:
    """A pod that bears other labels since."""
    return {**of, "metadata": {**of["metadata"], "labels": labels}}


def claim(going: bool = False) -> list[Object]:
    """A bound claim and its volume; ``going``: it is being deleted."""
    metadata: Object = {
        "name": "disk",
        "namespace": "default",
        "uid": "claim",
        "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        **({"deletionTimestamp": "2026-09-01T03:00:00Z"} if going else {}),
    }
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"]}
    bound = {"namespace": "default", "name": "disk", "uid": "claim"}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": {"volumeName": "pv", "accessModes": ["ReadWriteMany"]},
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv"},
            "spec": {**volume, "claimRef": bound},
            "status": {"phase": "Bound"},
        },
    ]


def space(going: bool = False, **labels: str) -> Object:
    """The namespace of all pods."""
    gone = {"deletionTimestamp": "2026-09-01T03:00:00Z"} if going else {}
    metadata = {"name": "default", "labels": labels, **gone}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def owned_anew(uid: str, owner: str) -> Object:
    """A Job that its JobSet has made, or makes anew under its name."""
    job = made("Job", "w", by=owner)
    return {**job, "metadata": {**job["metadata"], "uid": uid}}


def of_job(name: str, uid: str, node: str) -> Object:
    """A pod of such a Job."""
    owner = {"kind": "Job", "name": "w", "uid": uid, "controller": True}
    return p(name, node, "4", metadata={"ownerReferences": [owner]})


CHANGES = [
    DumpPair(
        "a pod that is to grow in place since another came",
        [A, B, SMALL, waits(p("x", owner="ReplicaSet/x", cpu="2"))],
        [A, B, growing(), p("x", "a", "2", owner="ReplicaSet/x")],
    ),
    DumpPair(
        "a pod that came since and is to grow in place",
        [A, p("x", "a", "2", owner="ReplicaSet/x")],
        [A, p("x", "a", "2", owner="ReplicaSet/x"), growing()],
    ),
    DumpPair(
        "two pods that came have no room, whatever was resized",
        [A, B, SMALL, waits(p("x", cpu="2")), waits(p("y", cpu="2"))],
        [A, B, growing(), p("x", "a", "2"), p("y", "a", "2")],
        verdict="ILLEGAL",
        faults=("capacity",),
    ),
    DumpPair(
        "a zone that came since pods were spread over the others",
        [*ZONES, even("x", "a"), even("y", "b"), even("z", ""), even("w", "")],
        [*ZONES, THIRD, even("x", "a"), even("y", "b"), even("z", "a"), even("w", "b")],
    ),
    DumpPair(
        "a pod that bears other labels since others were spread beside it",
        [*ZONES, even("x", "a"), even("y", "b"), even("z", "")],
        [*ZONES, labelled(even("x", "a"), app="looked-at"), even("y", "b"), even("z", "b")],
    ),
    DumpPair(
        "a pod that is to be kept apart from for its labels since another came",
        [*ZONES, p("x", "a", owner="ReplicaSet/x"), apart("y", "")],
        [
            *ZONES,
            labelled(p("x", "a", owner="ReplicaSet/x"), app="apart"),
            apart("y", "a"),
        ],
    ),
    DumpPair(
        "a node that came since, took a pod and was cordoned",
        [A, waits(p("x", cpu="4"))],
        [A, n("c", unschedulable=True), p("x", "c", "4")],
    ),
    DumpPair(
        "a node that came since, took a pod and is unreachable",
        [A, waits(p("x", cpu="4"))],
        [
            A,
            n("c", taints=[{"key": UNREACHABLE, "effect": "NoSchedule"}]),
            p("x", "c", "4"),
        ],
    ),
    DumpPair(
        "a node of a tainted pool that came since is for nobody else",
        [A, waits(p("x", cpu="4"))],
        [A, n("c", taints=[{"key": "pool", "effect": "NoSchedule"}]), p("x", "c", "4")],
        verdict="ILLEGAL",
        faults=("eligibility",),
    ),
    DumpPair(
        "a claim deleted since its pod came",
        [A, *claim(), waits(CLAIMING)],
        [A, *claim(going=True), CLAIMING],
    ),
    DumpPair(
        "a claim that was being deleted when its pod came",
        [A, *claim(going=True), waits(CLAIMING)],
        [A, *claim(going=True), CLAIMING],
        verdict="ILLEGAL",
        faults=("eligibility",),
    ),
    DumpPair(
        "a Job made anew under its name has not ended",
        [A, B, owned_anew("1", "JobSet/js"), of_job("w-a", "1", "a")],
        [A, B, owned_anew("2", "JobSet/js"), of_job("w-b", "2", "b")],
        became={"w-a": "disrupted"},
    ),
    DumpPair(
        "its namespace is being deleted",
        [A, space(), p("x", "a", owner="Notebook/x")],
        [A, space(going=True)],
        became={"x": "workload ended"},
    ),
    DumpPair(
        "owners of its kind are not in the later dump, so it may have any fate",
        [A, made("Job", "x"), p("x-1", "a", owner="Job/x"), p("y-1", "a", owner="Job/y")],
        [A, p("y-1", "a", owner="Job/y")],
        became={"x-1": "unknown"},
    ),
    DumpPair(
        "a namespace that is to be kept apart from for its labels since a pod came",
        [*ZONES, space(), NEIGHBOUR, waits(LONER)],
        [*ZONES, space(team="t"), NEIGHBOUR, LONER],
    ),
]
