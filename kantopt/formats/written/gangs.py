"""What a gang is, in the words that batch systems share: minima, closeness, roles."""

from __future__ import annotations

from dataclasses import dataclass

from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import HOSTNAME, NODE_NAME, ClusterSnapshot, TopologyLevel


@dataclass(frozen=True, slots=True)
class Minima:
    """Fewest pods that are worth running: in all, and of each role."""

    total: int
    roles: dict[str, int]


def minima(job: Job) -> Minima:
    """Return the minima of a job, told or not."""
    roles = {item.name: job.least_of(item) for item in job.pod_sets}
    total = max(job.min_count or 0, sum(roles.values()))
    if total == sum(item.count for item in job.pod_sets):
        roles = {item.name: item.count for item in job.pod_sets}
    return Minima(total, roles)


def is_gang(job: Job) -> bool:
    """Whether anything holds of the pods of a job together."""
    wishes = [job.topology_request, *(item.topology_request for item in job.pod_sets)]
    return bool(minima(job).total or any(wishes) or job.disruption_mode == "all")


def is_of_class(snapshot: ClusterSnapshot, job: Job) -> bool:
    """Whether the priority of a job is that of its class, so that its group may name it."""
    values = {item.name: item.value for item in snapshot.priority_classes}
    value = values.get(job.priority_class_name)
    return value is not None and job.priority in (None, value)


def wish_of(job: Job, pod_set: PodSet) -> TopologyRequest | None:
    """Return the closeness of a role: its own, or the job's where it is the only one."""
    own = pod_set.topology_request
    return job.topology_request if own is None and len(job.pod_sets) == 1 else own


def label_of(snapshot: ClusterSnapshot, level: str | None) -> str:
    """Return the node label of a level given by name or label; of none nothing."""
    for item in snapshot.topology.levels:
        if level in (item.name, item.node_label):
            return _label(item)
    return level or ""


def labels_of(snapshot: ClusterSnapshot) -> dict[str, str]:
    """Return the node labels of all levels, coarse to fine, each with the level's name."""
    found: dict[str, str] = {}
    for item in snapshot.topology.levels:
        found.setdefault(_label(item), item.name)
    return found


def _label(level: TopologyLevel) -> str:
    """Return the label of a level; to other systems that of single nodes is the hostname."""
    return HOSTNAME if level.node_label == NODE_NAME else level.node_label
