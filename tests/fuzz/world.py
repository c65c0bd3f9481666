"""Small clusters and where their pods should go instead, in plain counts.

Everything here is in whole numbers and names, so that a plain replay can judge plans by it
without a line of the code that it judges.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

HOST = "kubernetes.io/hostname"
Place = tuple[str, tuple[int, ...]]
"""A node and the zones taken on it; none on nodes without zones."""
Where = dict[str, Counter[Place]]
"""Pods on each place, by job."""


@dataclass
class Job:
    """One pod set of equal pods."""

    name: str
    pods: int
    cpu: int
    memory: int
    priority: int = 1
    live: bool = False
    movable: bool = True
    preemptible: bool = False
    gang: bool = False
    apart: bool = False
    rack: bool = False
    group: str = ""
    """Label that budgets select."""
    queue: str = ""
    pool: str = ""
    """Pool of nodes that its pods are confined to; empty: any."""
    namespace: str = "default"
    kept: bool = False
    """Labelled as one to leave alone."""
    near: str = ""
    """Job of which a pod must be where pods of this one come to; it may be the job itself."""
    beside: bool = False
    """Whether that means the same node; else the same rack."""
    at_once: int = 0
    """Most pods on the move at a time; 0: any number."""


@dataclass
class World:
    """A cluster, its jobs, where their pods are and where they should be."""

    nodes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """CPUs and memory of each node, or of each of its zones."""
    zones: int = 0
    racks: dict[str, str] = field(default_factory=dict)
    pools: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    now: Where = field(default_factory=dict)
    then: Where = field(default_factory=dict)
    budgets: dict[str, int] = field(default_factory=dict)
    """Disruptions allowed, by group."""
    quotas: dict[str, int] = field(default_factory=dict)
    """CPUs by queue."""
    limits: dict[str, int] = field(default_factory=dict)
    unit: str = "cpu"
    """What is called CPUs here may be something else."""
    cordoned: set[str] = field(default_factory=set)
    """Nodes that nobody comes to, and that no goal counts."""

    def load(self, where: Where) -> Counter[tuple[str, int, str]]:
        """CPU and memory in use by node and zone (0 where there are none)."""
        used: Counter[tuple[str, int, str]] = Counter()
        for name, places in where.items():
            job = self.jobs[name]
            for (node, zones), pods in places.items():
                for zone in zones or (0,):
                    used[node, zone, "cpu"] += pods * job.cpu
                    used[node, zone, "memory"] += pods * job.memory
        return used

    def fits(self, job: Job, place: Place, where: Where) -> bool:
        """Whether one more pod fits on a place, room alone considered."""
        used = self.load(where)
        node, zones = place
        cpu, memory = self.nodes[node]
        return all(
            used[node, zone, "cpu"] + job.cpu <= cpu
            and used[node, zone, "memory"] + job.memory <= memory
            for zone in zones or (0,)
        )

    def places(self, job: Job) -> list[Place]:
        """All places that a pod of a job may be on."""
        nodes = [n for n in self.nodes if not job.pool or self.pools[n] == job.pool]
        if not self.zones:
            return [(node, ()) for node in nodes]
        return [(node, (zone,)) for node in nodes for zone in range(self.zones)]

    def area(self, job: Job, node: str) -> str:
        """Where around a node those must be whom pods of a job must be near."""
        return node if job.beside else self.racks[node]

    def documents(self) -> list[dict[str, Any]]:
        """Snapshot, pending jobs and model as documents."""
        version = {"apiVersion": "kantopt/v1alpha1"}
        running, pending = [], []
        for job in self.jobs.values():
            (running if self.now.get(job.name) else pending).append(self._job(job))
        return [
            {
                **version,
                "kind": "ClusterSnapshot",
                "metadata": {"capturedAt": "2026-01-01T00:00:00Z"},
                "topology": {"levels": [{"name": "rack", "nodeLabel": "rack"}]},
                "nodes": [self._node(name) for name in self.nodes],
                "jobs": running,
                "podDisruptionBudgets": [
                    {
                        "name": f"budget-{group}",
                        "selector": {"matchLabels": {"group": group}},
                        "disruptionsAllowed": allowed,
                    }
                    for group, allowed in self.budgets.items()
                ],
                "queues": [
                    {"name": queue, "resources": [{"name": self.unit, "nominalQuota": cpus}]}
                    for queue, cpus in self.quotas.items()
                ],
            },
            {**version, "kind": "JobList", "jobs": pending},
            {
                **version,
                "kind": "Model",
                "rules": {"priority": "counts"},
                "objectives": ["moves"],
                "limits": self.limits,
            },
        ]

    def _node(self, name: str) -> dict[str, Any]:
        cpu, memory = self.nodes[name]
        room = {self.unit: cpu, "memory": memory}
        labels = {"rack": self.racks[name], "pool": self.pools[name]}
        closed = {"unschedulable": True} if name in self.cordoned else {}
        if self.zones:
            zone = {"class": "zone", "count": self.zones, "capacity": room}
            return {"name": name, "labels": labels, "devices": [zone], **closed}
        return {"name": name, "labels": labels, "allocatable": room, **closed}

    def _job(self, job: Job) -> dict[str, Any]:
        asked = {self.unit: job.cpu, "memory": job.memory}
        labels = {"job": job.name, **({"group": job.group} if job.group else {})}
        labels |= {"keep": "yes"} if job.kept else {}
        podset: dict[str, Any] = {"name": "main", "count": job.pods, "labels": labels}
        if self.zones:
            podset["devices"] = [{"class": "zone", "count": 1, "requests": asked}]
        else:
            podset["requests"] = asked
        podset["minCount"] = job.pods if job.gang else 0
        podset["assignments"] = [
            {"node": node, "count": pods, "devices": list(zones)}
            for (node, zones), pods in sorted(self.now.get(job.name, {}).items())
        ]
        if job.apart:
            selector = {"matchLabels": {"job": job.name}}
            podset["podAntiAffinity"] = [{"topologyKey": HOST, "labelSelector": selector}]
        if job.near:
            podset["podAffinity"] = [
                {
                    "topologyKey": HOST if job.beside else "rack",
                    "labelSelector": {"matchLabels": {"job": job.near}},
                    "namespaces": [self.jobs[job.near].namespace],
                }
            ]
        if job.rack:
            podset["topologyRequest"] = {"required": "rack"}
        if job.pool:
            podset["nodeSelector"] = {"pool": job.pool}
        return {
            "name": job.name,
            "namespace": job.namespace,
            "priority": job.priority,
            "podSets": [podset],
            "moveMode": "live" if job.live else "restart",
            "movable": job.movable,
            "preemptible": job.preemptible,
            **({"queueName": job.queue} if job.queue else {}),
            **({"maxMovesAtOnce": job.at_once} if job.at_once else {}),
        }
