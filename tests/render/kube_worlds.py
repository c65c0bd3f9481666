"""Small clusters with their plans: what a script is tried on, by hand or drawn at random."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.plan import Plan
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.render.api_cluster import HOSTNAME, Budget, Cluster, Object

MOMENT = "2026-09-01T03:00:00Z"
HELD = ("kantopt/hold",)


def node(name: str, gpus: int = 8) -> Object:
    """A node whose hostname label is not its name."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"node-{name}",
            "resourceVersion": "5",
            "labels": {HOSTNAME: f"{name}.lan"},
            "creationTimestamp": MOMENT,
        },
        "spec": {},
        "status": {
            "allocatable": {
                "cpu": "64",
                "memory": "512Gi",
                "pods": "110",
                "nvidia.com/gpu": str(gpus),
            },
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    gpus: int = 4,
    *,
    on: str = "",
    owner: str = "ReplicaSet/app",
    priority: int = 10,
    gates: Sequence[str] = (),
    grace: int = 0,
    namespace: str = "team",
    selector: Object | None = None,
) -> Object:
    """A pod; with a node it runs there and is ready."""
    kind, _, owner_name = owner.partition("/")
    uid = f"{kind}-{owner_name}"
    owners = [{"kind": kind, "name": owner_name, "uid": uid, "controller": True}] if owner else []
    spec: Object = {
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
        ],
        "priority": priority,
        "terminationGracePeriodSeconds": grace,
    }
    if on:
        spec["nodeName"] = on
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    if selector:
        spec["nodeSelector"] = selector
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "labels": {"app": owner_name or name},
            "annotations": {},
            "ownerReferences": owners,
            "creationTimestamp": MOMENT,
        },
        "spec": spec,
        "status": {
            "phase": "Running" if on else "Pending",
            "conditions": [{"type": "Ready", "status": "True"}] if on else [],
        },
    }


def cluster(nodes: Sequence[Object], pods: Sequence[Object], **more: Any) -> Cluster:
    """A cluster of its own copies of objects."""
    return Cluster(
        {item["metadata"]["name"]: copy.deepcopy(item) for item in nodes},
        {item["metadata"]["uid"]: copy.deepcopy(item) for item in pods},
        **more,
    )


def dump_of(made: Cluster) -> Object:
    """What ``kubectl get -o json`` shows."""
    system = {"name": "kube-system", "uid": made.uid}
    budgets = [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"b{i}", "namespace": b.namespace, "uid": f"budget-{i}"},
            "spec": {"minAvailable": b.least, "selector": {"matchLabels": dict([b.label])}},
        }
        for i, b in enumerate(made.budgets)
    ]
    items = [
        *made.nodes.values(),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": system},
        *made.pods.values(),
        *budgets,
    ]
    return copy.deepcopy({"apiVersion": "v1", "kind": "List", "items": items})


def plan_for(made: Cluster, model: str = "mixed", *, gated: bool = True) -> Plan:
    """Plan a cluster as it stands, by the fast engine, under a model that comes with kantopt."""
    how = Import(gated=gated)
    question = question_of([RawDocument("dump.json", 0, dump_of(made))], how)
    options = Options(engine="fast")
    return make_plan(question, load_model(model), options, Deadline.within(20)).plan


def moving(owner: str = "ReplicaSet/app") -> tuple[Cluster, Plan]:
    """Two nodes with a small pod each; one of them has to step aside for a gated one."""
    running = [pod(f"a-{i}", 2, on=f"n{i}", owner=owner, priority=100) for i in range(2)]
    waiting = pod("w-0", 8, owner="Job/w", priority=100, gates=HELD)
    made = cluster([node("n0"), node("n1")], [*running, waiting])
    plan = plan_for(made)
    assert [item.mode for item in plan.moves] == ["restart"]
    made.prefers = {plan.moves[0].pods[0].owner_uid: [plan.moves[0].to_node]}
    return made, plan


def drawn(seed: int) -> tuple[Cluster, Plan]:
    """Draw a small crowded cluster with pods that wait, and its plan."""
    rng = random.Random(f"kube {seed}")
    nodes = [node(f"n{i}") for i in range(rng.randint(2, 4))]
    room = {item["metadata"]["name"]: 8 for item in nodes}
    pods: list[Object] = []
    budgets = []
    for j in range(rng.randint(2, 5)):
        kind = rng.choice(("ReplicaSet", "ReplicaSet", "StatefulSet", "Job", ""))
        gpus = rng.choice((1, 2, 2, 4))
        count = rng.randint(1, 3) if kind else 1
        owner = f"{kind}/j{j}" if kind else ""
        priority = rng.choice((0, 10))
        for i in range(count):
            places = [name for name, left in room.items() if left >= gpus]
            if not places:
                break
            on = rng.choice(places)
            room[on] -= gpus
            pods.append(pod(f"j{j}-{i}", gpus, on=on, owner=owner, priority=priority))
        if rng.random() < 0.3 and kind:
            budgets.append(Budget("team", ("app", f"j{j}"), max(0, count - 1)))
    for j in range(rng.randint(1, 3)):
        gpus, gates = rng.choice((2, 4, 6, 8)), ("kantopt/hold",) if rng.random() < 0.8 else ()
        if rng.random() < 0.1:
            gates = ("kantopt/hold", "example.org/other")
        for i in range(rng.randint(1, 2)):
            pods.append(pod(f"w{j}-{i}", gpus, owner=f"Job/w{j}", priority=100, gates=gates))
    made = cluster(nodes, pods, budgets=budgets)
    return made, plan_for(made, rng.choice(("mixed", "mixed", "training", "preemption")))
