"""Nodes that nobody can use, and labels, resources and names that say nothing new."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from kantopt.schema.jobs import Assignment, Job, PodSet
from kantopt.schema.model import Objective
from kantopt.schema.objectives import AmountObjective
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import Node, PriorityClass
from scripts.bench.features.stated import (
    HOSTNAME,
    Stated,
    each_node,
    each_pod_set,
    metrics_of,
    only_if,
    with_model,
    with_snapshot,
)

_POOL = "bench.example/pool"
_OF_PODS = {"unplaced", "displaced", "evictions", "lost_gpu_seconds", "moves", "changes_to_plan"}
"""Metrics to which a node more is nothing."""
_MEMORY, _FINER, _LARGE = "memory", 4096, 2**40


def cordoned_node(stated: Stated) -> Stated:
    """A node like the first, empty and cordoned."""
    return _another(stated, unschedulable=True)


def unready_node(stated: Stated) -> Stated:
    """A node like the first, empty and not ready."""
    return _another(stated, ready=False)


def drained_node(stated: Stated) -> Stated:
    """A node like the first, to be emptied and empty."""
    only_if(not stated.asked.drain)
    made = _another(stated, ready=True)
    return with_model(made, drain=(made.snapshot.nodes[-1].name,))


def _another(stated: Stated, **changes: Any) -> Stated:
    nodes = stated.snapshot.nodes
    return with_snapshot(stated, nodes=(*nodes, _like(nodes[0], "bench-node", {}, **changes)))


def _like(node: Node, name: str, labels: Mapping[str, str], **changes: Any) -> Node:
    """Return a node like another with a name of its own, and some labels besides."""
    kept = {key: value for key, value in node.labels.items() if key != HOSTNAME}
    return node.model_copy(update={"name": name, "labels": {**kept, **labels}, **changes})


def another_pool(stated: Stated) -> Stated:
    """A pool that has room beside the others, and a pod there of each kind that runs: neither
    selects the nodes of the other."""
    only_if(metrics_of(stated.asked) <= _OF_PODS)
    there = {node.name: node for node in stated.snapshot.nodes}
    made = each_node(stated, lambda node: {"labels": {**node.labels, _POOL: "a"}})
    made = each_pod_set(
        made, lambda _, podset: {"node_selector": {**podset.node_selector, _POOL: "a"}}
    )
    nodes: list[Node] = []
    jobs: dict[str, Job] = {}
    for _, podset in stated.pod_sets():
        ask = repr((podset.requests, podset.devices))
        if ask in jobs or not podset.assignments:
            continue
        place, name = podset.assignments[0], f"bench-pool-{len(nodes)}"
        nodes.append(_like(there[place.node], name, {_POOL: "b"}))
        pod = PodSet(
            count=1,
            requests=podset.requests,
            devices=podset.devices,
            node_selector={_POOL: "b"},
            assignments=(Assignment(node=name, devices=place.devices),),
        )
        jobs[ask] = Job(name=name, priority=stated.lowest_priority(), pod_sets=(pod,))
    only_if(bool(nodes))
    return with_snapshot(
        made,
        nodes=(*made.snapshot.nodes, *nodes),
        jobs=(*made.snapshot.jobs, *jobs.values()),
    )


def prices(stated: Stated) -> Stated:
    """Each node costs something and draws power, and both are counted last of all."""
    known = metrics_of(stated.asked)
    only_if("cost" not in known and "energy" not in known)
    priced = each_node(
        stated, lambda node: {"price": "1.5", "idle_power": 400, "power_per_gpu": 700}
    )
    more = Objective(cost=AmountObjective()), Objective(energy=AmountObjective())
    return with_model(priced, objectives=(*(priced.asked.objectives or ()), *more))


def hostname_labels(stated: Stated) -> Stated:
    """Nodes have the label that their name stood for."""
    return each_node(
        stated,
        lambda node: {
            "labels": {HOSTNAME: node.name, **node.labels},
            "hostname_from_name": False,
        },
    )


def resource_unused(stated: Stated) -> Stated:
    """A resource of every node that nobody asks for."""
    return each_node(
        stated, lambda node: {"allocatable": {**node.allocatable, "bench.example/unused": 8}}
    )


def memory_differs(stated: Stated) -> Stated:
    """Each node has a little more memory than the last, and pods ask for some.

    Where nodes have memory it is counted in finer units, of which nodes and pods have some more,
    all pods together less than nodes. Where they have none there is enough on each for all pods.
    """
    pods = sum(podset.count for _, podset in stated.pod_sets())
    queues = stated.snapshot.queues
    only_if(all(quota.name != _MEMORY for queue in queues for quota in queue.resources))
    only_if("balance" not in metrics_of(stated.asked) and _MEMORY not in repr(stated.asked))
    known = any(_MEMORY in node.allocatable for node in stated.snapshot.nodes)
    only_if(not known or metrics_of(stated.asked) <= _OF_PODS)
    only_if(known or all(_MEMORY not in podset.requests for _, podset in stated.pod_sets()))
    half = _FINER // 2 if known else 0
    nodes, jobs = count(), count()

    def offered(node: Node) -> Mapping[str, Any]:
        memory = to_base(_MEMORY, node.allocatable.get(_MEMORY, 0), up=False) * _FINER
        more = half + next(nodes) % (_FINER // 2)
        return {"allocatable": {**node.allocatable, _MEMORY: (memory if known else _LARGE) + more}}

    def asked(_: Job, podset: PodSet) -> Mapping[str, Any]:
        memory = to_base(_MEMORY, podset.requests.get(_MEMORY, 0)) * _FINER
        more = next(jobs) % max(1, half // (pods + 1)) if known else _LARGE // (pods + 1)
        return {"requests": {**podset.requests, _MEMORY: memory + more}}

    return each_pod_set(each_node(stated, offered), asked)


def priority_classes(stated: Stated) -> Stated:
    """Classes that no job has: one for others only, one that evicts nobody."""
    known = stated.snapshot.priority_classes
    only_if(bool(known) or not any(job.priority_class_name for job in stated.jobs))
    only_if(not any(each.global_default for each in known))
    more = (
        PriorityClass(name="bench-default", value=0, global_default=True),
        PriorityClass(name="bench-never", value=10**6, preemption_policy="Never"),
    )
    return with_snapshot(stated, priority_classes=(*known, *more))


def identities(stated: Stated) -> Stated:
    """Snapshot and nodes have the identity of the objects that they were read from."""
    metadata = stated.snapshot.metadata.model_copy(update={"resource_version": "1000"})
    made = with_snapshot(stated, metadata=metadata)
    return each_node(made, lambda node: {"uid": f"uid-{node.name}", "resource_version": "1000"})
