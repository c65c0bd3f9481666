"""A cluster of GPU nodes under a topology that fills up with running gangs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Assignment, Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    Node,
    PriorityClass,
    SnapshotMetadata,
    Topology,
    TopologyLevel,
)

GPU = "nvidia.com/gpu"
PRIORITIES = {"prod": 1000, "research": 100, "scavenger": 10}
_SHARES = (20, 50, 30)
_CPUS = 128
_PODS = 110
_SERVICE = 50
"""Pods of a service, each on a node of its own."""


class GangCluster:
    """Nodes, how many of their GPUs are free, and what runs on them.

    Parameters
    ----------
    paths
        Labels of each node, coarse to fine, under the names of ``levels``.
    gpus
        GPUs of each node.
    """

    def __init__(
        self, levels: Sequence[str], paths: Sequence[tuple[str, ...]], gpus: int, seed: int
    ) -> None:
        self.levels = tuple(levels)
        self.paths = tuple(paths)
        self.gpus = gpus
        self.rng = random.Random(seed)
        self.free = [gpus] * len(paths)
        self.pods = [0] * len(paths)
        self.jobs: list[Job] = []
        self._width = len(str(len(paths)))

    def job(self, name: str, gpus: int, topology: TopologyRequest | None = None) -> Job:
        """Make a gang of whole nodes, or one pod if a node is more than it needs."""
        pods, each = (-(-gpus // self.gpus), self.gpus) if gpus >= self.gpus else (1, gpus)
        requests: dict[str, str | int] = {"cpu": each * _CPUS // (2 * self.gpus), GPU: each}
        podset = PodSet(count=pods, requests=requests)
        return Job(
            name=name,
            priority_class_name=self.rng.choices(tuple(PRIORITIES), _SHARES)[0],
            priority=None,
            topology_request=topology,
            # One lost member stops a gang, and a gang of several nodes is no light luggage.
            disruption_mode="all" if pods > 1 else "single",
            movable=pods == 1,
            pod_sets=(podset,),
        )

    def fill(self, sizes: Sequence[int]) -> None:
        """Start jobs one after the other; those that do not fit are left out."""
        for gpus in sizes:
            job = self.job(f"run-{len(self.jobs):05d}", gpus)
            podset = job.pod_sets[0]
            each = int(podset.requests[GPU])
            nodes = self._nodes(podset.count, each)
            if nodes is not None:
                self.start(job, nodes, each)

    def start(self, job: Job, nodes: Sequence[int], gpus: int) -> None:
        """Run one pod of a job on each of some nodes."""
        for n in nodes:
            self.free[n] -= gpus
            self.pods[n] += 1
        places = tuple(Assignment(node=self.name(n)) for n in nodes)
        podset = job.pod_sets[0].model_copy(update={"assignments": places})
        self.jobs.append(job.model_copy(update={"pod_sets": (podset,)}))

    def fill_to(self, share: float, sizes: Sequence[int]) -> None:
        """Start jobs until a share of all GPUs is in use."""
        room = int(share * self.gpus * len(self.paths)) - self.used()
        for gpus in sizes:
            if gpus <= room:
                before = self.used()
                self.fill([gpus])
                room -= self.used() - before

    def used(self) -> int:
        """GPUs in use."""
        return self.gpus * len(self.free) - sum(self.free)

    def add_services(self, pods_per_node: int) -> None:
        """Run pods without GPUs until there are so many pods per node on average."""
        missing = pods_per_node * len(self.paths) - sum(self.pods)
        for i in range(max(0, missing // _SERVICE)):
            nodes = sorted(self.rng.sample(range(len(self.paths)), min(_SERVICE, len(self.paths))))
            podset = PodSet(count=len(nodes), min_count=0, requests={"cpu": 1})
            name = f"service-{i:04d}"
            job = Job(name=name, priority_class_name="research", pod_sets=(podset,))
            self.start(job, nodes, 0)

    def snapshot(self, name: str, extra: Mapping[str, str] | None = None) -> ClusterSnapshot:
        """Write the cluster down."""
        levels = tuple(TopologyLevel(name=level, node_label=level) for level in self.levels)
        return ClusterSnapshot(
            api_version=API_VERSION,
            kind="ClusterSnapshot",
            metadata=SnapshotMetadata(name=name),
            topology=Topology(levels=levels),
            priority_classes=tuple(
                PriorityClass(name=each, value=value) for each, value in PRIORITIES.items()
            ),
            nodes=tuple(
                Node(
                    name=self.name(n),
                    labels={**dict(zip(self.levels, path, strict=True)), **(extra or {})},
                    allocatable={"cpu": _CPUS, GPU: self.gpus, "pods": _PODS},
                )
                for n, path in enumerate(self.paths)
            ),
            jobs=tuple(self.jobs),
        )

    def name(self, n: int) -> str:
        """Name of a node."""
        return f"node-{n:0{self._width}d}"

    def _nodes(self, count: int, gpus: int) -> list[int] | None:
        """Choose nodes: one at random, or empty ones side by side from a random one on."""
        total = len(self.free)
        first = self.rng.randrange(total)
        found = []
        for n in (*range(first, total), *range(first)):
            if self.free[n] >= gpus:
                found.append(n)
                if len(found) == count:
                    return sorted(found)
        return None
