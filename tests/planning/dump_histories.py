"""Dump pairs in which a scheduler did nothing wrong."""

from __future__ import annotations

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

A, B = n("a"), n("b")
SHUT = n("a", unschedulable=True)
WEB = p("web-1", "a", "4")
"""It fills node a."""
MORE = p("more", owner="ReplicaSet/more", cpu="4", priority=100)
"""It is more important and fills a node."""
PORT = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
PORTED = p("web-1", "a", containers=PORT)
MORE_PORTED = p("more", owner="ReplicaSet/more", containers=PORT, priority=100)
PREEMPTED = "PreemptionByScheduler"
JOB = made("Job", "train", parallelism=1)
WORKER = p("train-1", "a", "4", owner="Job/train")
OTHER = p("train-2", "b", "4", owner="Job/train")


def on(of: dict[str, object], name: str) -> dict[str, object]:
    """A pod that has a node since."""
    spec, status = of["spec"], {"phase": "Running"}
    assert isinstance(spec, dict)
    return {**of, "spec": {**spec, "nodeName": name}, "status": status}


def again(name: str, node: str, cpu: str = "4", **options: object) -> dict[str, object]:
    """A pod that a controller made since."""
    return p(name, node, cpu, **options)


EVIDENCE = [
    DumpPair("same uid, running: stayed", [A, WEB], [A, WEB]),
    DumpPair("phase Succeeded: finished", [A, WEB], [A, ended(WEB)], became={"web-1": "finished"}),
    DumpPair(
        "phase Failed: failed by itself",
        [A, WEB],
        [A, ended(WEB, "Failed")],
        became={"web-1": "failed"},
    ),
    DumpPair(
        "phase Failed, OutOfcpu: refused by the kubelet",
        [A, WEB],
        [A, ended(WEB, "Failed", reason="OutOfcpu")],
        became={"web-1": "failed"},
    ),
    DumpPair(
        "preempted by a pod that is there",
        [A, WEB, MORE],
        [A, ended(WEB, "Failed", PREEMPTED), on(MORE, "a")],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "drained, replaced on another node",
        [A, B, WEB],
        [
            n("a", unschedulable=True),
            B,
            ended(WEB, "Failed", "EvictionByEvictionAPI"),
            again("web-2", "b"),
        ],
        became={"web-1": "drained"},
    ),
    DumpPair(
        "evicted by the taint manager",
        [A, B, WEB],
        [
            n("a", taints=[{"key": "bad", "effect": "NoExecute"}]),
            B,
            going(WEB, "DeletionByTaintManager"),
            again("web-2", "b"),
        ],
        became={"web-1": "tainted"},
    ),
    DumpPair(
        "evicted by the device taint manager",
        [A, B, WEB],
        [A, B, going(WEB, "DeletionByDeviceTaintManager"), again("web-2", "b")],
        became={"web-1": "tainted"},
    ),
    DumpPair(
        "deleted by the pod garbage collector",
        [A, B, WEB],
        [B, ended(WEB, "Failed", "DeletionByPodGC"), again("web-2", "b")],
        became={"web-1": "node gone"},
    ),
    DumpPair(
        "ended by the kubelet",
        [A, B, WEB],
        [A, B, ended(WEB, "Failed", "TerminationByKubelet", "Evicted"), again("web-2", "b")],
        became={"web-1": "kubelet"},
    ),
    DumpPair(
        "deleted by its controller: scaled down",
        [A, replicas(1), WEB],
        [A, replicas(0), going(WEB)],
        became={"web-1": "scaled down"},
    ),
    DumpPair(
        "deleted without a condition, as KAI and Volcano evict",
        [A, replicas(1), WEB, MORE],
        [A, replicas(1), going(WEB), waits(again("web-2", "")), waits(MORE, "a")],
        became={"web-1": "disrupted"},
        waiting=("default/web-2",),
    ),
    DumpPair(
        "gone with its node", [A, B, WEB], [B, again("web-2", "b")], became={"web-1": "node gone"}
    ),
    DumpPair("gone with its owner", [A, replicas(1), WEB], [A], became={"web-1": "workload ended"}),
    DumpPair(
        "gone, its Job complete",
        [A, JOB, WORKER],
        [A, made("Job", "train", true=["Complete"], parallelism=1)],
        became={"train-1": "workload ended"},
    ),
    DumpPair(
        "gone, its Job suspended",
        [A, JOB, WORKER],
        [A, made("Job", "train", true=["Suspended"], parallelism=1, suspend=True)],
        became={"train-1": "suspended"},
    ),
    DumpPair(
        "gone, fewer wanted",
        [A, B, replicas(2), WEB, p("web-2", "b", "4")],
        [A, B, replicas(1), p("web-2", "b", "4")],
        became={"web-1": "scaled down"},
    ),
    DumpPair(
        "gone, a sibling ReplicaSet grew",
        [
            A,
            B,
            made("Deployment", "web", replicas=1),
            replicas(1, "old", by="Deployment/web"),
            p("old-1", "a", "4", owner="ReplicaSet/old"),
        ],
        [
            A,
            B,
            made("Deployment", "web", replicas=1, generation=2),
            replicas(0, "old", by="Deployment/web"),
            replicas(1, "new", by="Deployment/web"),
            p("new-1", "b", "4", owner="ReplicaSet/new"),
        ],
        became={"old-1": "rolled out"},
    ),
    DumpPair(
        "gone, its StatefulSet has a new generation",
        [A, B, made("StatefulSet", "db", replicas=1), p("db-0", "a", owner="StatefulSet/db")],
        [
            A,
            B,
            made("StatefulSet", "db", replicas=1, generation=2),
            p("db-0", "b", owner="StatefulSet/db", metadata={"uid": "another"}),
        ],
        became={"db-0": "rolled out"},
    ),
    DumpPair(
        "gone, replaced: disrupted by whom is not known",
        [A, B, replicas(1), WEB],
        [A, B, replicas(1), again("web-2", "b")],
        became={"web-1": "disrupted"},
    ),
    DumpPair(
        "gone, an event says preempted",
        [A, B, replicas(1), WEB, MORE, p("rest", "b", "4", owner="ReplicaSet/rest", priority=100)],
        [
            A,
            B,
            replicas(1),
            on(MORE, "a"),
            p("rest", "b", "4", owner="ReplicaSet/rest", priority=100),
            waits(again("web-2", "")),
            event("Preempted", WEB),
        ],
        became={"web-1": "preempted"},
        waiting=("default/web-2",),
    ),
    DumpPair(
        "gone, an event says taint",
        [A, B, replicas(1), WEB],
        [A, B, replicas(1), again("web-2", "b"), event("TaintManagerEviction", WEB)],
        became={"web-1": "tainted"},
    ),
    DumpPair("gone, no owner in the dumps", [A, B, WEB], [A, B], became={"web-1": "unknown"}),
]
"""One for each row of the table of evidence."""

BETWEEN = [
    DumpPair(
        "a Job's pod succeeded and is gone",
        [A, JOB, WORKER],
        [A, made("Job", "train", parallelism=1, status={"succeeded": 1})],
        became={"train-1": "finished"},
    ),
    DumpPair(
        "gone, and what its Job has counted since is another pod that is there to see",
        [A, B, made("Job", "train", status={"succeeded": 0}), WORKER, OTHER],
        [
            A,
            B,
            made("Job", "train", status={"succeeded": 1}),
            ended(OTHER),
            again("train-3", "a", owner="Job/train"),
        ],
        became={"train-1": "disrupted", "train-2": "finished"},
    ),
    DumpPair(
        "a rollout half done is one job",
        [
            A,
            B,
            n("c"),
            made("Deployment", "web", replicas=2),
            replicas(2, "old", by="Deployment/web"),
            p("old-1", "a", "4", owner="ReplicaSet/old"),
            p("old-2", "b", "4", owner="ReplicaSet/old"),
        ],
        [
            A,
            B,
            n("c"),
            made("Deployment", "web", replicas=2, generation=2),
            replicas(1, "old", by="Deployment/web"),
            replicas(1, "new", by="Deployment/web"),
            p("old-2", "b", "4", owner="ReplicaSet/old"),
            p("new-1", "c", "4", owner="ReplicaSet/new"),
        ],
        became={"old-1": "rolled out"},
    ),
    DumpPair(
        "the preemptor was made in between",
        [A, WEB],
        [A, ended(WEB, "Failed", PREEMPTED), on(MORE, "a")],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "preempted, then a completion freed another node: could have been spared",
        [A, B, WEB, MORE, p("other", "b", "4", owner="Job/other", priority=100)],
        [
            A,
            B,
            ended(WEB, "Failed", PREEMPTED),
            on(MORE, "a"),
            ended(p("other", "b", "4", owner="Job/other", priority=100)),
        ],
        verdict="BETTER",
        tier="unplaced[priority=0, CPU-only pods]",
        became={"web-1": "preempted", "other": "finished"},
    ),
    DumpPair(
        "nominated, its victim has gone, and the scheduler has not come back to it yet",
        [A, going(WEB), waits(MORE, for_room_on="a")],
        [A, waits(MORE, for_room_on="a"), event("Preempted", WEB)],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "preempted before the first dump, which shows it terminating: nobody could spare it",
        [A, B, going(WEB), waits(MORE, for_room_on="a")],
        [A, B, on(MORE, "a"), event("Preempted", WEB)],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "the victim freed a host port",
        [n("a", "8"), PORTED, MORE_PORTED],
        [n("a", "8"), ended(PORTED, "Failed", PREEMPTED), on(MORE_PORTED, "a")],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "the scheduler broke a budget: legal for it, said apart",
        [
            A,
            p("web-1", "a", "2", labels={"app": "web"}),
            p("web-2", "a", "2", labels={"app": "web"}),
            MORE,
            budget(1, app="web"),
        ],
        [
            A,
            ended(p("web-1", "a", "2", labels={"app": "web"}), "Failed", PREEMPTED),
            ended(p("web-2", "a", "2", labels={"app": "web"}), "Failed", PREEMPTED),
            on(MORE, "a"),
            budget(0, app="web"),
        ],
        became={"web-1": "preempted", "web-2": "preempted"},
        apart=("budget default/kept",),
    ),
    DumpPair(
        "the victim is still terminating, its preemptor nominated",
        [A, WEB, MORE],
        [A, going(WEB, PREEMPTED), waits(MORE, "a")],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "a DaemonSet's pod started on a cordoned node",
        [n("a", unschedulable=True)],
        [n("a", unschedulable=True), p("agent-1", "a", owner="DaemonSet/agent")],
    ),
    DumpPair(
        "a node was added, a pending pod went there",
        [A, WEB, p("x", cpu="4", owner="ReplicaSet/x")],
        [A, B, WEB, p("x", "b", "4", owner="ReplicaSet/x")],
    ),
    DumpPair(
        "a node was removed, its pod replaced",
        [A, B, n("c"), replicas(1), WEB],
        [B, n("c"), replicas(1), again("web-2", "c")],
        became={"web-1": "node gone"},
    ),
]
"""One for each row of the table of what happens between dumps."""

HISTORIES = [*EVIDENCE, *BETWEEN]
