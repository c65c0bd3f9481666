"""Dump pairs in which something is wrong: a rule broken by what came, or a better choice."""

from __future__ import annotations

from tests.formats.cluster_objects import Object
from tests.planning.dump_histories import JOB, MORE, PREEMPTED, SHUT, WEB, WORKER, A, B, on
from tests.planning.dump_pairs import DumpPair, ended, event, going, made, n, p, replicas, waits

POOL = n("a", labels={"pool": "x"})
PICKY = p("w", owner="ReplicaSet/w", nodeSelector={"pool": "x"})
ZONES = [n("a", labels={"zone": "1"}), n("b", labels={"zone": "2"})]
TAINTED = n("a", taints=[{"key": "gpu", "effect": "NoSchedule"}])
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "apart"}}}
        ]
    }
}
EVEN = [
    {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "even"}},
    }
]


def apart(name: str, node: str) -> Object:
    """A pod that shares its zone with none of its kind."""
    return p(name, node, owner="ReplicaSet/apart", labels={"app": "apart"}, affinity=APART)


def even(name: str, node: str) -> Object:
    """A pod of which zones differ by one at most."""
    options = {"labels": {"app": "even"}, "topologySpreadConstraints": EVEN}
    return p(name, node, owner="ReplicaSet/even", **options)


def cluster_queue(cores: str) -> list[Object]:
    """A queue of Kueue with a quota of cores."""
    flavours = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": cores}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavours}]
    version = "kueue.x-k8s.io/v1beta1"
    return [
        {
            "apiVersion": version,
            "kind": "ClusterQueue",
            "metadata": {"name": "team"},
            "spec": {"namespaceSelector": {}, "resourceGroups": groups},
        },
        {
            "apiVersion": version,
            "kind": "LocalQueue",
            "metadata": {"name": "q", "namespace": "default"},
            "spec": {"clusterQueue": "team"},
        },
    ]


def queued(name: str, node: str) -> Object:
    """A pod of two cores in that queue."""
    labels = {"kueue.x-k8s.io/queue-name": "q"}
    return p(name, node, "2", owner=f"ReplicaSet/{name}", labels=labels)


def racked(name: str, node: str) -> Object:
    """A worker of a gang that must be in one rack."""
    annotations = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    labels = {"kueue.x-k8s.io/pod-group-name": "gang", "kueue.x-k8s.io/queue-name": "q"}
    annotations["kueue.x-k8s.io/pod-group-total-count"] = "2"
    return p(name, node, owner="", labels=labels, annotations=annotations)


RACKS = [
    {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Topology",
        "metadata": {"name": "t"},
        "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
    },
    n("a", labels={"rack": "1"}),
    n("b", labels={"rack": "2"}),
]


def preempted_for(other: Object, related: bool = False) -> list[Object]:
    """A pod of priority 5 that was preempted for another, as an event says."""
    uid = other["metadata"]["uid"]
    said = event("Preempted", _LESS, message="" if related else f"Preempted by pod {uid} on node a")
    named = {"related": {"kind": "Pod", "uid": uid}} if related else {}
    return [ended(_LESS, "Failed", PREEMPTED), {**said, **named}, on(other, "a")]


_LESS = p("v", "a", "4", priority=5)
_EQUAL = p("w", cpu="4", owner="ReplicaSet/w", priority=5)
_MORE = p("w", cpu="4", owner="ReplicaSet/w", priority=9)
_OTHER = p("w", cpu="4", owner="ReplicaSet/w", priority=5, schedulerName="yunikorn")
_ELASTIC = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "ElasticQuota",
    "metadata": {"name": "q", "namespace": "default"},
}
_NEVER = p("w", cpu="4", owner="ReplicaSet/w", priority=9, preemptionPolicy="Never")


def _illegal(name: str, rule: str, first: list[Object], later: list[Object]) -> DumpPair:
    return DumpPair(name, first, later, verdict="ILLEGAL", faults=(rule,))


FAULTS = [
    DumpPair(
        "preempted for a pod of no higher priority",
        [A, _LESS, _EQUAL],
        [A, *preempted_for(_EQUAL, related=True)],
        "ILLEGAL",
        {"v": "preempted"},
        ("priority",),
    ),
    DumpPair(
        "preempted for a pod that is to preempt nobody",
        [A, _LESS, _NEVER],
        [A, *preempted_for(_NEVER)],
        "ILLEGAL",
        {"v": "preempted"},
        ("priority",),
    ),
    DumpPair(
        "preempted for a pod of higher priority, as an event says",
        [A, _LESS, _MORE],
        [A, *preempted_for(_MORE)],
        became={"v": "preempted"},
    ),
    DumpPair(
        "preempted for a pod of no higher priority, by another scheduler",
        [A, _LESS, _OTHER],
        [A, *preempted_for(_OTHER)],
        became={"v": "preempted"},
    ),
    DumpPair(
        "preempted for a pod of no higher priority, by an elastic quota",
        [A, _ELASTIC, _LESS, _EQUAL],
        [A, _ELASTIC, *preempted_for(_EQUAL)],
        became={"v": "preempted"},
    ),
    _illegal(
        "a pod on a node that its selector excludes",
        "eligibility",
        [POOL, B, PICKY],
        [POOL, B, on(PICKY, "b")],
    ),
    _illegal(
        "a new pod on a node that its selector excludes",
        "eligibility",
        [POOL, B],
        [POOL, B, on(PICKY, "b")],
    ),
    _illegal(
        "a pod on a node whose taint it does not tolerate",
        "eligibility",
        [TAINTED, p("w")],
        [TAINTED, p("w", "a")],
    ),
    _illegal("a pod on a node that was closed all along", "eligibility", [SHUT], [SHUT, WEB]),
    _illegal(
        "an overcommitted node",
        "capacity",
        [A, p("w", "a", "3"), p("v", cpu="3", owner="ReplicaSet/v")],
        [A, p("w", "a", "3"), p("v", "a", "3", owner="ReplicaSet/v")],
    ),
    _illegal(
        "a node overcommitted by a DaemonSet's pod",
        "capacity",
        [A, WEB],
        [A, WEB, p("agent", "a", owner="DaemonSet/agent")],
    ),
    DumpPair(
        "a node overcommitted while another pod left it",
        [A, WEB, p("w", "a", "0", owner="Job/w"), p("v", cpu="3", owner="ReplicaSet/v")],
        [A, WEB, ended(p("w", "a", "0", owner="Job/w")), p("v", "a", "3", owner="ReplicaSet/v")],
        verdict="ILLEGAL",
        became={"w": "finished"},
        faults=("capacity",),
    ),
    DumpPair(
        "a node overcommitted: its terminating pod still holds its room",
        [A, replicas(1), WEB, MORE],
        [A, replicas(0), going(WEB), on(MORE, "a")],
        verdict="ILLEGAL",
        became={"web-1": "scaled down"},
        faults=("capacity",),
    ),
    DumpPair(
        "a rollout to a node that its selector excludes",
        [
            POOL,
            B,
            made("Deployment", "web", replicas=1),
            replicas(1, "old", by="Deployment/web"),
            p("old-1", "a", owner="ReplicaSet/old", nodeSelector={"pool": "x"}),
        ],
        [
            POOL,
            B,
            made("Deployment", "web", replicas=1, generation=2),
            replicas(0, "old", by="Deployment/web"),
            replicas(1, "new", by="Deployment/web"),
            p("new-1", "b", owner="ReplicaSet/new", nodeSelector={"pool": "x"}),
        ],
        verdict="ILLEGAL",
        became={"old-1": "rolled out"},
        faults=("eligibility",),
    ),
    _illegal(
        "more than the quota",
        "quota",
        [A, B, *cluster_queue("3"), queued("x", "a"), queued("y", "")],
        [A, B, *cluster_queue("3"), queued("x", "a"), queued("y", "b")],
    ),
    _illegal(
        "two in a zone that keep apart",
        "anti_affinity",
        [*ZONES, n("c", labels={"zone": "1"}), apart("x", "a"), apart("y", "")],
        [*ZONES, n("c", labels={"zone": "1"}), apart("x", "a"), apart("y", "c")],
    ),
    _illegal(
        "unevenly spread",
        "spread",
        [*ZONES, even("x", "a"), even("y", "")],
        [*ZONES, even("x", "a"), even("y", "a")],
    ),
    _illegal(
        "a gang in two racks that must be in one",
        "topology",
        [*RACKS, racked("x", ""), racked("y", "")],
        [*RACKS, racked("x", "a"), racked("y", "b")],
    ),
    DumpPair(
        "a preemptor on a node that its selector excludes",
        [POOL, B, p("web-1", "b", "4"), p("more", cpu="4", priority=9, nodeSelector={"pool": "x"})],
        [
            POOL,
            B,
            ended(p("web-1", "b", "4"), "Failed", PREEMPTED),
            p("more", "b", "4", priority=9, nodeSelector={"pool": "x"}),
        ],
        verdict="ILLEGAL",
        became={"web-1": "preempted"},
        faults=("eligibility",),
    ),
    DumpPair(
        "a pod left waiting in both dumps though there is room",
        [A, B, WEB, MORE],
        [A, B, WEB, MORE],
        verdict="BETTER",
        tier="unplaced[priority=100, CPU-only pods]",
    ),
    DumpPair(
        "preempted though another node was free all along",
        [A, B, WEB, MORE],
        [A, B, ended(WEB, "Failed", PREEMPTED), on(MORE, "a")],
        verdict="BETTER",
        became={"web-1": "preempted"},
        tier="unplaced[priority=0, CPU-only pods]",
    ),
    DumpPair(
        "preempted and moved though another node was free all along",
        [A, B, WEB, MORE],
        [A, B, ended(WEB, "Failed", PREEMPTED), on(MORE, "a"), p("web-2", "b", "4")],
        verdict="BETTER",
        became={"web-1": "preempted"},
        tier="moves",
    ),
    DumpPair(
        "a more important pod waits while a lesser one came",
        [A, MORE, waits(WORKER), JOB],
        [A, MORE, WORKER, JOB],
        verdict="BETTER",
        tier="unplaced[priority=100, CPU-only pods]",
    ),
]
