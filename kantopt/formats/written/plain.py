"""What all systems share: nodes, priority classes, disruption budgets as Kubernetes has them."""

from __future__ import annotations

from typing import Any

from kantopt.schema.dump import dump_data
from kantopt.schema.hundredths import BY_KOORDINATOR, is_gpu
from kantopt.schema.snapshot import (
    HOSTNAME,
    ClusterSnapshot,
    Node,
    PodDisruptionBudget,
    PriorityClass,
)

Data = dict[str, Any]
_MANY = 1_000_000
"""Pods of a node without limit: what is not offered would take none."""


def plain_objects(snapshot: ClusterSnapshot) -> list[Data]:
    """Return nodes, classes and budgets."""
    return [
        *(_node(item) for item in snapshot.nodes),
        *(_priority_class(item) for item in snapshot.priority_classes),
        *(_budget(item) for item in snapshot.pod_disruption_budgets),
    ]


def thing(version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Data:
    """Return an object; one without namespace belongs to the cluster."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def identity(uid: str, resource_version: str) -> Data:
    """Return what tells an object from others of its name, if known."""
    fields = {"uid": uid, "resourceVersion": resource_version}
    return {name: value for name, value in fields.items() if value}


def _node(node: Node) -> Data:
    labels = dict(node.labels)
    if node.hostname_from_name:
        labels.setdefault(HOSTNAME, node.name)
    offered = {"pods": _MANY} | node.allocatable
    key, value = BY_KOORDINATOR
    if labels.get(key) == value:
        del labels[key]
        offered = {name: n for name, n in offered.items() if not is_gpu(name)}
    made = thing("v1", "Node", node.name)
    made["metadata"] |= {**identity(node.uid, node.resource_version), "labels": labels}
    made["spec"] = {}
    if node.taints:
        made["spec"]["taints"] = [dump_data(item) for item in node.taints]
    if node.unschedulable:
        made["spec"]["unschedulable"] = True
    made["status"] = {
        "allocatable": {name: str(n) for name, n in offered.items()},
        "conditions": [{"type": "Ready", "status": "True" if node.ready else "False"}],
    }
    return made


def _priority_class(item: PriorityClass) -> Data:
    made = thing("scheduling.k8s.io/v1", "PriorityClass", item.name, value=item.value)
    made["preemptionPolicy"] = item.preemption_policy
    return made | ({"globalDefault": True} if item.global_default else {})


def _budget(budget: PodDisruptionBudget) -> Data:
    made = thing("policy/v1", "PodDisruptionBudget", budget.name, budget.namespace)
    made["metadata"] |= identity(budget.uid, budget.resource_version)
    made["spec"] = {"selector": dump_data(budget.selector)}
    if budget.max_unavailable is not None:
        made["spec"]["maxUnavailable"] = budget.max_unavailable
    if budget.min_available is not None:
        made["spec"]["minAvailable"] = budget.min_available
    if budget.evict_unready:
        made["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    if budget.disruptions_allowed is not None:
        made["status"] = {"disruptionsAllowed": budget.disruptions_allowed}
    return made
