"""Documents in one form, so that what means the same is the same."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kantopt.formats.differences import without
from kantopt.formats.written.gangs import label_of, minima, wish_of
from kantopt.schema.dump import dump_data
from kantopt.schema.duration import duration_seconds
from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import HOSTNAME, ClusterSnapshot, Node, Queue

Data = dict[str, Any]


def job_form(snapshot: ClusterSnapshot, job: Job) -> Data:
    """Return a job with all that is left open filled in, levels by their labels."""
    data = dump_data(job)
    least = minima(job)
    data["priority"] = _priority(snapshot, job)
    data["minCount"] = least.total
    data["podSets"] = [_role(snapshot, job, item, least.roles[item.name]) for item in job.pod_sets]
    wish = job.topology_request if len(job.pod_sets) > 1 else None
    data["topologyRequest"] = _wish(snapshot, wish)
    if job.min_runtime is not None:
        data["minRuntime"] = duration_seconds(job.min_runtime)
    for name in ("disruptionCost", "preemptible", "movable"):
        data.pop(name, None)  # those of the roles say it
    return data


def node_form(node: Node) -> Data:
    """Return a node with its amounts in one form, and its host name as a label."""
    data = dump_data(node)
    data["allocatable"] = _amounts(dict(node.allocatable))
    if node.hostname_from_name:
        data["labels"] = {**node.labels} | {HOSTNAME: node.labels.get(HOSTNAME, node.name)}
    data["hostnameFromName"] = False
    return data


def queue_form(queue: Queue) -> Data:
    """Return a queue with its amounts in one form."""
    data = dump_data(queue)
    rows = []
    for row in queue.resources:
        fields = dump_data(row)
        for name in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            if name in fields:
                fields[name] = from_base(row.name, to_base(row.name, fields[name]))
        rows.append(fields)
    data["resources"] = sorted(rows, key=lambda fields: str(fields["name"]))
    if queue.min_runtime is not None:
        data["minRuntime"] = duration_seconds(queue.min_runtime)
    return data


def without_additions(mine: Data, its: Data, added: Collection[str]) -> tuple[Data, Data]:
    """Take out of a job that was read again what the writing put there: labels, names of pods."""
    sets = []
    for i, role in enumerate(its["podSets"]):
        own = mine["podSets"][i] if i < len(mine["podSets"]) else {}
        labels = own.get("labels", {})
        kept = {k: v for k, v in role["labels"].items() if k in labels or k not in added}
        role = {**role, "labels": kept}
        if "pods" not in own:
            role.pop("pods", None)
        elif "pods" in role:
            role["pods"] = _as_told(own["pods"], role["pods"])
        places = own.get("assignments", [])
        role["assignments"] = [
            {**place, "pods": _as_told(places[j]["pods"], place.get("pods", []))}
            if j < len(places) and "pods" in places[j]
            else without(place, "pods")
            for j, place in enumerate(role["assignments"])
        ]
        sets.append(role)
    return mine, {**its, "podSets": sets}


def _as_told(mine: list[Data], its: list[Data]) -> list[Data]:
    """Take out owners that were made up for pods that told none."""
    told = {ref["name"]: ref for ref in mine}
    return [
        ref if "ownerKind" in told.get(ref["name"], {}) else without(ref, "ownerKind", "ownerUid")
        for ref in its
    ]


def _role(snapshot: ClusterSnapshot, job: Job, role: PodSet, least: int) -> Data:
    data = dump_data(role)
    data["minCount"] = least
    data["requests"] = _amounts({"pods": 1, **role.requests})
    data.setdefault("labels", {})
    data["assignments"] = sorted(data.get("assignments", []), key=lambda item: str(item["node"]))
    cost = role.disruption_cost
    data["disruptionCost"] = job.disruption_cost if cost is None else cost
    fixed = job.daemon or role.terminating
    free = job.preemptible if role.preemptible is None else role.preemptible
    data["preemptible"] = free and not fixed
    movable = job.movable if role.movable is None else role.movable
    data["movable"] = movable and not (fixed or role.nominated)
    data.pop("stays", None)  # it says why, not what
    data["topologyRequest"] = _wish(snapshot, wish_of(job, role))
    return data


def _wish(snapshot: ClusterSnapshot, wish: TopologyRequest | None) -> Data:
    if wish is None:
        return {}
    data = dump_data(wish)
    return {k: label_of(snapshot, v) if isinstance(v, str) else v for k, v in data.items()}


def _priority(snapshot: ClusterSnapshot, job: Job) -> int:
    if job.priority is not None:
        return job.priority
    by_name = {item.name: item.value for item in snapshot.priority_classes}
    default = next((item.value for item in snapshot.priority_classes if item.global_default), 0)
    return by_name.get(job.priority_class_name, default)


def _amounts(amounts: dict[str, str | int]) -> dict[str, str | int]:
    return {name: from_base(name, to_base(name, n)) for name, n in sorted(amounts.items())}
