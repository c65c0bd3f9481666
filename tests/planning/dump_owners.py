"""Dump pairs of what owners, events and nodes tell of pods that are gone."""

from __future__ import annotations

from collections.abc import Mapping

from tests.formats.cluster_objects import Object
from tests.planning.dump_histories import A, B
from tests.planning.dump_pairs import DumpPair, event, going, made, n, p, replicas


def of(name: str, node: str, template: str = "1", owner: str = "ReplicaSet/app") -> Object:
    """A pod of some template."""
    return p(name, node, owner=owner, labels={"pod-template-hash": template})


def deployed(count: int, *, generation: int = 1, template: str = "1") -> list[Object]:
    """A Deployment and its ReplicaSet."""
    return [
        made("Deployment", "web", replicas=count, generation=generation),
        replicas(count, f"app-{template}", by="Deployment/web", generation=generation),
    ]


def _told(name: str, first: list[Object], later: list[Object], **became: str) -> DumpPair:
    told: Mapping[str, str] = {pod.replace("_", "-"): said for pod, said in became.items()}
    return DumpPair(name, first, later, became=told)


_BORN = {"metadata": {"creationTimestamp": "2026-09-01T01:00:00Z"}}
_OLD = p("web-1", "a", **_BORN)
_MARKED, _SPARED = "Marking for deletion Pod default/x", "Cancelling deletion of Pod default/x"
_ROLLOUT = {"replicas": 1, "true": ("Completed",)}

_SET = replicas(1, "web-1f", by="Deployment/web")
_WORN = p("web-1", "a", owner="ReplicaSet/web-1f")
_ROLLING = [
    *(A, made("Deployment", "web", replicas=1, generation=2)),
    replicas(1, "app-2", by="Deployment/web"),
]
_BOTH = [
    of("web-1", "a", owner="ReplicaSet/app-1"),
    of("web-2", "a", "2", owner="ReplicaSet/app-2"),
]

OWNERS = [
    _told(
        "rolled out, and the old ReplicaSet is not kept",
        [A, *deployed(1), of("web-1", "a", owner="ReplicaSet/app-1")],
        [
            A,
            *deployed(1, generation=2, template="2"),
            of("web-2", "a", "2", "ReplicaSet/app-2"),
        ],
        web_1="rolled out",
    ),
    _told(
        "scaled to nothing and back: no rollout",
        [A, *deployed(1), of("web-1", "a", owner="ReplicaSet/app-1")],
        [A, *deployed(1, generation=3), of("web-2", "a", owner="ReplicaSet/app-1")],
        web_1="disrupted",
    ),
    _told(
        "a ReplicaSet scaled by one takes one away, the other was made anew",
        [A, B, replicas(3), p("web-1", "a"), p("web-2", "a"), p("web-3", "a")],
        [A, B, replicas(2), p("web-1", "a"), p("web-4", "b")],
        web_2="scaled down",
        web_3="disrupted",
    ),
    _told(
        "a pod that is there again under its name was not scaled down",
        [
            A,
            made("StatefulSet", "db", replicas=2),
            *(p(f"db-{i}", "a", owner="StatefulSet/db") for i in range(2)),
        ],
        [
            A,
            made("StatefulSet", "db", replicas=1),
            p("db-0", "a", owner="StatefulSet/db", metadata={"uid": "new"}),
        ],
        db_0="disrupted",
        db_1="scaled down",
    ),
    _told(
        "gone, of a StatefulSet that is to have it still",
        [
            A,
            made("StatefulSet", "db", replicas=2),
            *(p(f"db-{i}", "a", owner="StatefulSet/db") for i in range(2)),
        ],
        [A, made("StatefulSet", "db", replicas=1)],
        db_0="unknown",
        db_1="scaled down",
    ),
    _told(
        "what keeps so many pods going is never at its end",
        [A, made("Rollout", "api", **_ROLLOUT), p("web-1", "a", owner="Rollout/api")],
        [A, made("Rollout", "api", **_ROLLOUT), p("web-2", "a", owner="Rollout/api")],
        web_1="disrupted",
    ),
    _told(
        "marked for a taint, and let off again",
        [A, replicas(1), _OLD],
        [
            A,
            replicas(0),
            event("TaintManagerEviction", _OLD, "2026-09-01T03:00:00Z", message=_MARKED),
            event("TaintManagerEviction", _OLD, "2026-09-01T03:00:00Z", message=_SPARED),
        ],
        web_1="scaled down",
    ),
    _told(
        "marked for a taint once more after it was let off",
        [A, replicas(1), _OLD],
        [
            A,
            replicas(0),
            event("TaintManagerEviction", _OLD, "2026-09-01T03:00:00Z", message=_SPARED),
            event("TaintManagerEviction", _OLD, "2026-09-01T03:00:01Z", message=_MARKED),
        ],
        web_1="tainted",
    ),
    _told(
        "evicted by its node, of which only an event tells",
        [A, _OLD],
        [A, event("Evicted", _OLD, message="The node was low on resource: memory.")],
        web_1="kubelet",
    ),
    _told(
        "evicted by Karpenter, of which only an event tells",
        [A, _OLD],
        [A, event("Evicted", _OLD, message="Evicted pod: Underutilized")],
        web_1="drained",
    ),
    _told(
        "its node is gone and it is terminating", [A, B, _OLD], [B, going(_OLD)], web_1="node gone"
    ),
    _told(
        "its node is gone and nobody has taken it away", [A, B, _OLD], [B, _OLD], web_1="node gone"
    ),
    _told("on a node that neither dump has", [A, p("web-1", "x")], [A, p("web-1", "x")]),
    _told(
        "its node was made anew while it ran on",
        [A, _OLD],
        [{**n("a"), "metadata": {"name": "a", "uid": "anew"}}, _OLD],
    ),
    _told(
        "the later dump has no Deployments, but ReplicaSets of one",
        [A, made("Deployment", "web", replicas=1), _SET, _WORN],
        [A, _SET, p("web-2", "a", owner="ReplicaSet/web-1f")],
        web_1="disrupted",
    ),
    _told(
        "the later dump has neither Deployments nor ReplicaSets, but a pod of one",
        [A, made("Deployment", "web", replicas=1), _SET, _WORN],
        [A, p("web-2", "a", owner="ReplicaSet/web-1f")],
        web_1="disrupted",
    ),
    _told(
        "counted as failed by its Job, and gone: a Job counts those that are deleted, too",
        [A, made("Job", "etl", parallelism=1), p("etl-1", "a", owner="Job/etl")],
        [
            A,
            made("Job", "etl", parallelism=1, status={"failed": 1}),
            p("etl-2", "a", owner="Job/etl"),
        ],
        etl_1="unknown",
    ),
    _told(
        "of the old ReplicaSet of a rollout of which the new one has grown before",
        [*_ROLLING, replicas(1, "app-1", by="Deployment/web"), *_BOTH],
        [*_ROLLING, replicas(0, "app-1", by="Deployment/web", generation=2), _BOTH[1]],
        web_1="rolled out",
    ),
]
