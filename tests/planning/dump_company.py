"""Dump pairs about volumes, required company, and spread over zones that are closed for a while."""

from __future__ import annotations

from typing import Any

from tests.formats.cluster_objects import Object
from tests.planning.dump_pairs import DumpPair, ended, n, p, waits

_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
ZONES = [n(name, labels={"zone": name}) for name in "abc"]
SHUT = n("c", labels={"zone": "c"}, unschedulable=True, taints=[_CORDON])
_EVEN = [
    {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor",
        "labelSelector": {"matchLabels": {"app": "even"}},
    }
]


def near(name: str, on: str, label: str = "g", to: str = "g") -> Object:
    """A pod that must share its zone with one of some label."""
    affinity = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": to}}}
            ]
        }
    }
    return p(name, on, owner=f"ReplicaSet/{label}", labels={"app": label}, affinity=affinity)


def even(name: str, on: str) -> Object:
    """A pod of which zones that it tolerates differ by one at most."""
    options = {"labels": {"app": "even"}, "topologySpreadConstraints": _EVEN}
    return p(name, on, owner="ReplicaSet/even", **options)


def user(name: str, on: str, claim: str = "data") -> Object:
    """A pod with a claim."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    return p(name, on, owner=f"ReplicaSet/{claim}", volumes=volumes)


def volume(name: str = "data", mode: str = "ReadWriteOnce") -> list[Object]:
    """A volume of a driver and the claim that is bound to it."""
    csi = {"csi": {"driver": "ebs", "volumeHandle": name}}
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    return [
        _thing("v1", "PersistentVolume", f"pv-{name}", csi),
        _thing(
            "v1",
            "PersistentVolumeClaim",
            name,
            {"volumeName": f"pv-{name}", "accessModes": [mode]},
            namespace="default",
            annotations=bound,
        ),
    ]


def limits(*nodes: str) -> list[Object]:
    """Nodes that can attach one volume at a time."""
    drivers = {"drivers": [{"name": "ebs", "allocatable": {"count": 1}}]}
    return [_thing("storage.k8s.io/v1", "CSINode", name, drivers) for name in nodes]


def attached(on: str, name: str = "data") -> Object:
    """A volume that is attached to a node."""
    spec = {"source": {"persistentVolumeName": f"pv-{name}"}, "nodeName": on}
    return _thing("storage.k8s.io/v1", "VolumeAttachment", f"{name}-{on}", spec)


def _thing(version: str, kind: str, name: str, spec: Object, **metadata: Any) -> Object:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "uid": f"{kind}/{name}", **metadata},
        "spec": spec,
        "status": {"phase": "Bound"},
    }


AB = ZONES[:2]
COMPANY = [
    DumpPair(
        "a volume is attached where its pod came",
        [*AB, *volume(), *volume("other"), *limits("a", "b"), waits(user("u", ""))],
        [*AB, *volume(), *volume("other"), *limits("a", "b"), user("u", "a"), attached("a")],
    ),
    DumpPair(
        "a volume that two pods share is attached once",
        [
            *AB,
            *volume(mode="ReadWriteMany"),
            *limits("a", "b"),
            user("u-0", "a"),
            waits(user("u-1", "")),
        ],
        [*AB, *volume(mode="ReadWriteMany"), *limits("a", "b"), user("u-0", "a"), user("u-1", "a")],
    ),
    DumpPair(
        "a volume of nobody's was attached since",
        [*AB, *volume(), *volume("other"), *limits("a", "b"), waits(user("u", ""))],
        [
            *AB,
            *volume(),
            *volume("other"),
            *limits("a", "b"),
            user("u", "a"),
            attached("a", "other"),
        ],
    ),
    DumpPair(
        "a volume of nobody's was attached all the time",
        [
            *AB,
            *volume(),
            *volume("other"),
            *limits("a", "b"),
            waits(user("u", "")),
            attached("a", "other"),
        ],
        [
            *AB,
            *volume(),
            *volume("other"),
            *limits("a", "b"),
            user("u", "a"),
            attached("a", "other"),
        ],
        "ILLEGAL",
        faults=("capacity",),
    ),
    DumpPair(
        "more volumes than a node can attach",
        [
            *AB,
            *volume(),
            *volume("other"),
            *limits("a", "b"),
            user("u-0", "a"),
            waits(user("u-1", "", "other")),
        ],
        [
            *AB,
            *volume(),
            *volume("other"),
            *limits("a", "b"),
            user("u-0", "a"),
            user("u-1", "a", "other"),
        ],
        "ILLEGAL",
        faults=("capacity",),
    ),
    DumpPair(
        "a claim for one node is no matter to the scheduler",
        [*AB, *volume(), user("u-0", "a")],
        [*AB, *volume(), user("u-0", "a"), user("u-1", "b")],
    ),
    DumpPair(
        "far from its like that stayed",
        [*AB, near("g-0", "a"), waits(near("g-1", ""))],
        [*AB, near("g-0", "a"), near("g-1", "b")],
        "ILLEGAL",
        faults=("affinity",),
    ),
    DumpPair(
        "two of a kind that came far from each other",
        [*AB, waits(near("g-0", "")), waits(near("g-1", ""))],
        [*AB, near("g-0", "a"), near("g-1", "b")],
        "ILLEGAL",
        faults=("affinity",),
    ),
    DumpPair(
        "the first of its kind, and others that ask for nobody after it",
        [*AB, waits(near("g-0", ""))],
        [*AB, near("g-0", "b"), p("x", "a", owner="ReplicaSet/x", labels={"app": "g"})],
    ),
    DumpPair(
        "not the first of its kind: others were there before",
        [*AB, p("x", "a", owner="ReplicaSet/x", labels={"app": "g"}), waits(near("g-0", ""))],
        [*AB, p("x", "a", owner="ReplicaSet/x", labels={"app": "g"}), near("g-0", "b")],
        "ILLEGAL",
        faults=("affinity",),
    ),
    DumpPair(
        "its like was there and has ended",
        [*AB, near("g-0", "a"), near("g-2", "b"), waits(near("g-1", ""))],
        [*AB, near("g-0", "a"), ended(near("g-2", "b")), near("g-1", "b")],
        became={"g-2": "finished"},
    ),
    DumpPair(
        "far from whom it asks for, while somebody else ended",
        [*AB, p("m", "a", labels={"app": "m"}), p("job", "b"), waits(near("w", "", "w", "m"))],
        [*AB, p("m", "a", labels={"app": "m"}), ended(p("job", "b")), near("w", "b", "w", "m")],
        "ILLEGAL",
        became={"job": "finished"},
        faults=("affinity",),
    ),
    DumpPair(
        "a zone without pods was closed when one came",
        [*ZONES, even("e-0", "a"), even("e-1", "b"), waits(even("e-2", ""))],
        [*AB, SHUT, even("e-0", "a"), even("e-1", "b"), even("e-2", "a")],
    ),
    DumpPair(
        "a zone without pods was closed and has been opened since",
        [*AB, SHUT, even("e-0", "a"), even("e-1", "b"), waits(even("e-2", ""))],
        [*ZONES, even("e-0", "a"), even("e-1", "b"), even("e-2", "a")],
    ),
    DumpPair(
        "a zone without pods was open all the time",
        [*ZONES, even("e-0", "a"), even("e-1", "b"), waits(even("e-2", ""))],
        [*ZONES, even("e-0", "a"), even("e-1", "b"), even("e-2", "a")],
        "ILLEGAL",
        faults=("spread",),
    ),
]
