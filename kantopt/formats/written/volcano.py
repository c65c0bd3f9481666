"""Gangs as PodGroups, quotas as capability of Queues, domains as HyperNodes: Volcano's own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kantopt.formats.kubernetes.queue_trees import Placed, placed_of
from kantopt.formats.kubernetes.topology import HYPERNODE_LABEL
from kantopt.formats.written.gangs import is_gang, is_of_class, label_of, labels_of, minima
from kantopt.formats.written.plain import Data, thing
from kantopt.formats.written.pods import Marks, System, Words
from kantopt.schema.jobs import Job
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import HOSTNAME, ClusterSnapshot


def _cluster(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Sequence[Data]:
    return [*(_queue(item) for item in placed_of(snapshot.queues)), *_hypernodes(snapshot)]


def _queue(item: Placed) -> Data:
    queue = item.queue
    rows = {row.name: str(row.nominal_quota) for row in queue.resources if row.nodes is None}
    spec: Data = {"weight": queue.weight} if isinstance(queue.weight, int) else {}
    if rows:
        spec["capability"] = rows
    if item.parent:
        spec["parent"] = item.parent
    if item.guarantee:
        told = {name: str(from_base(name, n)) for name, n in item.guarantee.items()}
        spec["guarantee"] = {"resource": told}
    return thing("scheduling.volcano.sh/v1beta1", "Queue", queue.name, spec=spec)


def _tiers(snapshot: ClusterSnapshot) -> dict[str, int]:
    """Return the tier of each level: 1 is the tightest. Nodes themselves are no HyperNodes."""
    labels = [label for label in labels_of(snapshot) if label != HOSTNAME]
    return {label: len(labels) - i for i, label in enumerate(labels)}


def _hypernodes(snapshot: ClusterSnapshot) -> list[Data]:
    tiers = _tiers(snapshot)
    members: dict[tuple[int, str], dict[tuple[str, str], None]] = {}
    for node in snapshot.nodes:
        path: list[str] = []
        chain: dict[str, int] = {}
        for label, tier in tiers.items():
            value = node.labels.get(label)
            if not value:
                break
            path.append(value)
            # A domain is a path; one that came from a HyperNode has its name already, also where
            # it stands for those above that it lacks.
            chain[value if label.startswith(HYPERNODE_LABEL) else ".".join(path)] = tier
        domains = [(tier, name) for name, tier in chain.items()]
        for outer, (_, inner) in pairwise(domains):
            members.setdefault(outer, {})["HyperNode", inner] = None
        if domains:
            members.setdefault(domains[-1], {})["Node", node.name] = None
    return [
        thing(
            "topology.volcano.sh/v1alpha1",
            "HyperNode",
            name,
            spec={
                "tier": tier,
                "members": [
                    {"type": kind, "selector": {"exactMatch": {"name": inside}}}
                    for kind, inside in found
                ],
            },
        )
        for (tier, name), found in sorted(members.items())
    ]


def _job(snapshot: ClusterSnapshot, job: Job) -> Words:
    queue = {"scheduling.volcano.sh/queue-name": job.queue_name} if job.queue_name else {}
    if not is_gang(job):
        return Words((), {item.name: Marks(annotations=queue) for item in job.pod_sets})
    least = minima(job)
    spec: Data = {
        "minMember": least.total,
        "minTaskMember": least.roles,
        "queue": job.queue_name,
    }
    if is_of_class(snapshot, job):
        spec["priorityClassName"] = job.priority_class_name
    wish = job.topology_request
    if wish is None and len(job.pod_sets) == 1:
        wish = job.pod_sets[0].topology_request
    if wish is not None:
        mode = "hard" if wish.required else "soft"
        tier = _tiers(snapshot).get(label_of(snapshot, wish.required or wish.preferred))
        if tier is not None:
            spec["networkTopology"] = {"mode": mode, "highestTierAllowed": tier}
    group = thing("scheduling.volcano.sh/v1beta1", "PodGroup", job.name, job.namespace, spec=spec)
    marks = {
        item.name: Marks(
            annotations={
                "scheduling.k8s.io/group-name": job.name,
                "volcano.sh/task-spec": item.name,
                **queue,
            },
            spec={"schedulerName": "volcano"},
        )
        for item in job.pod_sets
    }
    return Words([group], marks)


VOLCANO = System(_cluster, _job, tells_topology=True)
