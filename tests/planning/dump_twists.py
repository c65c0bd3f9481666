"""Dump pairs that look wrong and are not: what changed meanwhile explains them."""

from __future__ import annotations

from tests.planning.dump_faults import (
    PICKY,
    POOL,
    ZONES,
    apart,
    cluster_queue,
    even,
    queued,
)
from tests.planning.dump_histories import MORE, PREEMPTED, SHUT, WEB, A, B, on
from tests.planning.dump_pairs import (
    DumpPair,
    budget,
    ended,
    event,
    going,
    made,
    n,
    p,
    replicas,
    waits,
)

LABELLED = {"labels": {"app": "web"}}
GANG = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "gang", "namespace": "default"},
    "spec": {"minMember": 2},
}
OF_GANG = {"owner": "Job/gang", "labels": {"scheduling.x-k8s.io/pod-group": "gang"}}
DB = p("db-0", "a", "4", owner="StatefulSet/db")
REST = p("rest", "b", "4", owner="Job/rest")
AGENT = p("agent", "a", "4", owner="DaemonSet/agent")
DEPLOYMENT = made("Deployment", "web", replicas=1)
DB_AGAIN = p("db-0", "b", "4", owner="StatefulSet/db", metadata={"uid": "again"})

WISH = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "preference": {
                    "matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]
                },
            }
        ]
    }
}

GOING_OFF = n("a", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}])
FOR_A_WHILE = [
    {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
]
UNREADY = {
    **n("a"),
    "status": {**A["status"], "conditions": [{"type": "Ready", "status": "False"}]},
}
NEAR_WEB = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}
LABELLED_WEB = p("near", owner="ReplicaSet/near", **LABELLED)
LIKE_EVEN = p("like", owner="ReplicaSet/like", labels={"app": "even"})
"""A pod that those spread evenly count, and that is not to be spread itself."""


def down(moment: str, key: str = "not-ready", **spec: object) -> dict[str, object]:
    """A node that was tainted at a moment."""
    key = f"node.kubernetes.io/{key}"
    taint = {"key": key, "effect": "NoSchedule", "timeAdded": f"2026-09-01T{moment}:00Z"}
    return n("a", taints=[taint], **spec)


FLAPPING = [
    DumpPair(
        "a node that was in trouble in both dumps, and not all the time",
        [down("03:00"), p("new")],
        [down("03:30"), p("new", "a")],
    ),
    DumpPair(
        "a node that was in trouble of another kind",
        [down("03:00"), p("new")],
        [down("03:30", "unreachable"), p("new", "a")],
    ),
    DumpPair(
        "a node that was cordoned, opened and cordoned again",
        [down("03:00", "unschedulable", unschedulable=True), p("new")],
        [down("03:30", "unschedulable", unschedulable=True), p("new", "a")],
    ),
    DumpPair(
        "a node that was in trouble all the time",
        [down("03:00"), p("new")],
        [down("03:00"), p("new", "a")],
        verdict="ILLEGAL",
        faults=("eligibility",),
    ),
]

TWISTS = [
    *FLAPPING,
    DumpPair(
        "a pod on a node that it would rather not be on",
        [POOL, B, p("w", affinity=WISH)],
        [POOL, B, p("w", "b", affinity=WISH)],
    ),
    DumpPair("a node cordoned after a pod came", [A, waits(WEB)], [SHUT, WEB]),
    DumpPair("a node opened before a pod came", [SHUT, waits(WEB)], [A, WEB]),
    DumpPair("a node labelled anew since a pod came", [POOL, PICKY], [A, on(PICKY, "a")]),
    DumpPair("a node smaller since a pod came", [A, waits(WEB)], [n("a", "2"), WEB]),
    DumpPair(
        "a quota lowered since a pod came",
        [A, B, *cluster_queue("4"), queued("x", "a"), queued("y", "")],
        [A, B, *cluster_queue("2"), queued("x", "a"), queued("y", "b")],
    ),
    DumpPair(
        "spread that was even until a pod ended",
        [*ZONES, even("x", "a"), even("z", "b"), even("y", "")],
        [*ZONES, even("x", "a"), ended(even("z", "b")), even("y", "a")],
        became={"z": "finished"},
    ),
    DumpPair(
        "a zone that was empty once the other had left",
        [*ZONES, apart("x", "a"), apart("y", "")],
        [*ZONES, ended(apart("x", "a")), apart("y", "a")],
        became={"x": "finished"},
    ),
    DumpPair(
        "a pod that came since and waits is nobody's fault",
        [A],
        [A, MORE],
        waiting=("default/more",),
    ),
    DumpPair(
        "preempted, replaced under the same name",
        [A, B, DB, MORE, REST],
        [A, B, ended(REST), on(MORE, "a"), DB_AGAIN, event("Preempted", DB)],
        verdict="BETTER",
        tier="moves",
        became={"db-0": "preempted", "rest": "finished"},
    ),
    DumpPair(
        "whoever preempted it has left",
        [A, B, WEB],
        [A, B, ended(WEB, "Failed", PREEMPTED), p("web-2", "b", "4")],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "a pod that never preempts has come to its node since",
        [A, B, WEB],
        [
            A,
            B,
            ended(WEB, "Failed", PREEMPTED),
            p("never", "a", "4", owner="ReplicaSet/n", priority=9, preemptionPolicy="Never"),
        ],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "a DaemonSet's pod preempted",
        [A, AGENT, MORE],
        [A, ended(AGENT, "Failed", PREEMPTED), on(MORE, "a")],
        became={"agent": "preempted"},
    ),
    DumpPair(
        "preempted under two budgets",
        [
            A,
            p("web-1", "a", "4", **LABELLED),
            MORE,
            budget(0, app="web"),
            {**budget(0, app="web"), "metadata": {"name": "twice", "namespace": "default"}},
        ],
        [A, ended(p("web-1", "a", "4", **LABELLED), "Failed", PREEMPTED), on(MORE, "a")],
        became={"web-1": "preempted"},
        apart=("budget default/kept", "budget default/twice"),
    ),
    DumpPair(
        "a gang of which a member failed",
        [A, B, GANG, p("g-1", "a", **OF_GANG), p("g-2", "b", **OF_GANG)],
        [A, B, GANG, p("g-1", "a", **OF_GANG), ended(p("g-2", "b", **OF_GANG), "Failed")],
        became={"g-2": "failed"},
    ),
    DumpPair(
        "a gang came and one of it has failed already",
        [A, B],
        [A, B, GANG, p("g-1", "a", **OF_GANG), ended(p("g-2", "b", **OF_GANG), "Failed")],
    ),
    DumpPair(
        "two that wait are nominated to a node that one of them fits on",
        [A, WEB, MORE],
        [
            A,
            going(WEB, PREEMPTED),
            waits(MORE, "a"),
            waits(p("most", cpu="4", owner="ReplicaSet/most", priority=200), "a"),
        ],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "a node with a new uid under its old name",
        [A, WEB],
        [
            {**A, "metadata": {**A["metadata"], "uid": "another"}},
            p("web-2", "a", "4"),
        ],
        became={"web-1": "node gone"},
    ),
    DumpPair(
        "a pod that was terminating in both dumps",
        [A, B, going(WEB)],
        [A, B, going(WEB), p("web-2", "b", "4")],
        became={"web-1": "disrupted"},
    ),
    DumpPair(
        "a static pod came to a full node that is closed",
        [SHUT, p("w", "a", "3")],
        [SHUT, p("w", "a", "3"), p("proxy-a", "a", owner="Node/a")],
    ),
    DumpPair(
        "a Deployment scaled up while one of its pods was lost",
        [
            A,
            B,
            n("c"),
            made("Deployment", "web", replicas=1),
            replicas(1, by="Deployment/web"),
            WEB,
        ],
        [
            A,
            B,
            n("c"),
            made("Deployment", "web", replicas=2, generation=2),
            replicas(2, by="Deployment/web", generation=2),
            p("web-2", "b", "4"),
            p("web-3", "c", "4"),
        ],
        became={"web-1": "disrupted"},
    ),
    DumpPair(
        "a pod that waited in both dumps has no room",
        [A, WEB, p("x", cpu="4", owner="ReplicaSet/x")],
        [A, WEB, p("x", cpu="4", owner="ReplicaSet/x")],
    ),
    DumpPair(
        "a pod on a node where it is tolerated for some seconds",
        [GOING_OFF, B, p("w", tolerations=FOR_A_WHILE)],
        [GOING_OFF, B, p("w", "a", tolerations=FOR_A_WHILE)],
    ),
    DumpPair(
        "a pod on a node that is not ready, though no taint says so",
        [UNREADY, B, p("w")],
        [UNREADY, B, p("w", "a")],
    ),
    DumpPair(
        "a pod that need not be spread came last",
        [*ZONES, even("x", ""), LIKE_EVEN],
        [*ZONES, even("x", "a"), on(LIKE_EVEN, "a")],
    ),
    DumpPair(
        "a pod near one that is on its way out in both dumps",
        [*ZONES, p("x", affinity=NEAR_WEB), going(on(LABELLED_WEB, "a"))],
        [*ZONES, p("x", "a", affinity=NEAR_WEB), going(on(LABELLED_WEB, "a"))],
        became={"near": "unknown"},
    ),
]
