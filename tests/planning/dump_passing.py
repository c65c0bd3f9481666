"""Dump pairs of what was there for a while only: pods that came and ended, taints, gates, quota."""

from __future__ import annotations

from tests.formats.cluster_objects import Object
from tests.planning.dump_company import near, volume
from tests.planning.dump_faults import PICKY, ZONES, apart, cluster_queue, even, queued
from tests.planning.dump_histories import A, B, on
from tests.planning.dump_pairs import DumpPair, ended, event, going, made, n, p, replicas, waits

WEB = p("web-1", "a", "4")
MORE = p("more", cpu="4", owner="ReplicaSet/more")


def came_with(key: str, put_on: str = "", got_pod: str = "") -> list[Object]:
    """A node that came since and is tainted, and a pod on it, with the moments of both."""
    taint = {"key": key, "effect": "NoSchedule", **({"timeAdded": put_on} if put_on else {})}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": got_pod}
    pod = p("w", "a", owner="ReplicaSet/w")
    return [n("a", taints=[taint]), {**pod, "status": {**pod["status"], "conditions": [scheduled]}}]


def gated(of: Object) -> Object:
    """A pod that a gate holds."""
    return {**of, "spec": {**of["spec"], "schedulingGates": [{"name": "hold"}]}}


def unbound(of: Object) -> Object:
    """A claim that has no volume yet."""
    spec = {k: v for k, v in of["spec"].items() if k != "volumeName"}
    return {**of, "metadata": {**of["metadata"], "annotations": {}}, "spec": spec}


def of_job(of: Object) -> Object:
    """A pod of a Job instead."""
    owned = p("x", owner="Job/etl")["metadata"]["ownerReferences"]
    return {**of, "metadata": {**of["metadata"], "ownerReferences": owned}}


_USER = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
_ETL = [of_job(even("etl-0", "a")), of_job(even("etl-2", "a"))]
_TEMPLATE = {"metadata": {"labels": {"app": "m"}}}
_PICKED = n("a", labels={"pool": "x"})
_STATIC = p("s", "a", owner="Node/a", labels={"app": "apart"})

PASSING = [
    DumpPair(
        "pods that came since and kept a spread even have ended",
        ZONES,
        [*ZONES, even("e-0", "a"), ended(even("e-1", "b")), even("e-2", "a")],
    ),
    DumpPair(
        "a pod that came since and keeps a spread even is terminating",
        [*ZONES, waits(even("e-1", "b"))],
        [*ZONES, even("e-0", "a"), going(even("e-1", "b")), even("e-2", "a")],
    ),
    DumpPair(
        "a Job has counted pods that came since and are seen in neither dump",
        [*ZONES, made("Job", "etl", parallelism=4)],
        [*ZONES, made("Job", "etl", parallelism=4, status={"succeeded": 2}), *_ETL],
    ),
    DumpPair(
        "a Job has counted nobody but whom the later dump shows",
        [*ZONES, made("Job", "etl", parallelism=4)],
        [*ZONES, made("Job", "etl", parallelism=4), *_ETL],
        "ILLEGAL",
        faults=("spread",),
    ),
    DumpPair(
        "scaled twice: some pods may have been made and taken away again",
        [*ZONES, replicas(1, "even"), even("e-0", "a")],
        [*ZONES, replicas(2, "even", generation=3), even("e-0", "a"), even("e-1", "a")],
    ),
    DumpPair(
        "scaled once: no pod was taken away again",
        [*ZONES, replicas(1, "even"), even("e-0", "a")],
        [*ZONES, replicas(2, "even", generation=2), even("e-0", "a"), even("e-1", "a")],
        "ILLEGAL",
        faults=("spread",),
    ),
    DumpPair(
        "made since and scaled: some pods may have been made and taken away again",
        ZONES,
        [*ZONES, replicas(2, "even", generation=2), even("e-0", "a"), even("e-1", "a")],
    ),
    DumpPair(
        "made since and never scaled: no pod was taken away again",
        ZONES,
        [*ZONES, replicas(2, "even"), even("e-0", "a"), even("e-1", "a")],
        "ILLEGAL",
        faults=("spread",),
    ),
    DumpPair(
        "a Job made since has counted pods that are seen in neither dump",
        ZONES,
        [*ZONES, made("Job", "etl", parallelism=4, status={"succeeded": 2}), *_ETL],
    ),
    DumpPair(
        "an event tells of a pod that came since and is seen in neither dump",
        ZONES,
        [
            *(*ZONES, replicas(2, "even"), even("e-0", "a"), even("e-1", "a")),
            event("Preempted", p("even-9", "b", metadata={"uid": "e-9"})),
        ],
    ),
    DumpPair(
        "company of which only the template of its Job is left",
        [*ZONES, made("Job", "m", suspend=True, template=_TEMPLATE)],
        [
            *(*ZONES, made("Job", "m", template=_TEMPLATE, status={"succeeded": 1})),
            near("w", "a", "w", "m"),
        ],
    ),
    DumpPair(
        "a node that came since and has less room than its running pods take",
        [B],
        [B, n("a", "2"), p("w", "a", "4")],
    ),
    DumpPair(
        "a node that came since and has not admitted its pods yet",
        [B],
        [B, n("a", "2"), {**p("w", "a", "4"), "status": {"phase": "Pending"}}],
        "ILLEGAL",
        faults=("capacity",),
    ),
    DumpPair(
        "company that came since and has ended",
        ZONES,
        [*ZONES, ended(p("m", "a", labels={"app": "m"})), near("w", "a", "w", "m")],
    ),
    DumpPair(
        "a node that came since is under pressure",
        [B],
        [B, *came_with("node.kubernetes.io/memory-pressure")],
    ),
    DumpPair(
        "a node that came since is about to be taken back",
        [B],
        [B, *came_with("aws-node-termination-handler/spot-itn")],
    ),
    DumpPair(
        "a node that came since was tainted after its pod had come",
        [B],
        [B, *came_with("ours", "2026-09-01T03:00:00Z", "2026-09-01T02:00:00Z")],
    ),
    DumpPair(
        "a node that came since was tainted before its pod came",
        [B],
        [B, *came_with("ours", "2026-09-01T01:00:00Z", "2026-09-01T02:00:00Z")],
        "ILLEGAL",
        faults=("eligibility",),
    ),
    DumpPair(
        "quota is handed on while pods of who had it terminate",
        [A, B, *cluster_queue("2"), queued("x", "a"), waits(queued("y", ""))],
        [A, B, *cluster_queue("2"), going(queued("x", "a")), queued("y", "b")],
        became={"x": "unknown"},
    ),
    DumpPair(
        "held by a gate in the first dump",
        [A, gated(MORE)],
        [A, MORE],
        freed=("default/more",),
    ),
    DumpPair(
        "its claim was bound since",
        [A, unbound(volume()[1]), p("more", **_USER)],
        [A, *volume(), p("more", **_USER)],
        freed=("default/more",),
    ),
    DumpPair(
        "its node bears the label that it asks for since",
        [A, PICKY],
        [_PICKED, PICKY],
    ),
    DumpPair(
        "it came to a node that bears the label it asks for since",
        [A, PICKY],
        [_PICKED, on(PICKY, "a")],
    ),
    DumpPair(
        "a static pod came beside one that keeps away from its like: nodes do not ask",
        ZONES,
        [*ZONES, _STATIC, apart("x", "a")],
    ),
    DumpPair(
        "a pod came beside a static one that it keeps away from",
        [*ZONES, _STATIC],
        [*ZONES, _STATIC, apart("x", "a")],
        "ILLEGAL",
        faults=("anti_affinity",),
    ),
    DumpPair(
        "a later dump without nodes has those of the first",
        [A, WEB, MORE],
        [WEB, p("more", "a", "4", owner="ReplicaSet/more")],
        "ILLEGAL",
        faults=("capacity",),
    ),
]
