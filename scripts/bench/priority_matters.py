"""Pods by priority on equal nodes: the instances of "Priority Matters" (arXiv 2511.08373).

The recipe draws ReplicaSets, their requests and priorities from one random stream per label, and
sizes the nodes so that all pods together would use a given share of them. The start is what the
default scheduler of Kubernetes leaves behind: its pods run, the rest is pending.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline
from kantopt.problem.build import build_instance
from kantopt.problem.placement import Placement
from kantopt.schema.base import API_VERSION
from kantopt.schema.extends import load_model
from kantopt.schema.jobs import Assignment, Job, PodSet
from kantopt.schema.snapshot import ClusterSnapshot, Node, SnapshotMetadata
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from scripts.bench.case import Case, Documents

SUITE = "priority-matters"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the published grid."""

    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int

    @property
    def name(self) -> str:
        """Name of the instances of this cell, to which the seed is added."""
        return (
            f"n{self.nodes:02d}-p{self.pods_per_node}-k{self.priorities}-u{self.usage_percent:03d}"
        )


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """Equal pods under one owner; requests in millicores and bytes."""

    name: str
    pods: int
    cpu_milli: int
    memory_bytes: int
    priority: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a seed draws for a cell: ReplicaSets, and the capacity of each node."""

    cell: Cell
    cpu_milli: int
    memory_bytes: int
    replica_sets: tuple[ReplicaSet, ...]


def recipe(cell: Cell, seed: int) -> Recipe:
    """Draw an instance exactly as published."""
    k = _stream(seed, "num_priorities", cell.priorities).randint(cell.priorities, cell.priorities)
    sizes = list(_sizes(_stream(seed, "rs-sizes"), cell.nodes * cell.pods_per_node))
    stream = _stream(seed, "rs-cpu")
    cpus = [stream.randint(100, 1000) for _ in sizes]
    stream = _stream(seed, "rs-mem")
    memories = [stream.randint(10**8, 10**9) for _ in sizes]
    stream = _stream(seed, "base")
    priorities = [stream.randint(1, k) for _ in sizes]
    rows = zip(sizes, cpus, memories, priorities, strict=True)
    return Recipe(
        cell,
        _capacity(cell, sizes, cpus),
        _capacity(cell, sizes, memories),
        tuple(
            ReplicaSet(f"rs-{i:02d}-p{priority}", pods, cpu, memory, priority)
            for i, (pods, cpu, memory, priority) in enumerate(rows, 1)
        ),
    )


def documents(cell: Cell, seed: int) -> Documents:
    """Make the snapshot that the default scheduler leaves, and the jobs it could not start.

    It takes the ReplicaSets in order, never evicts, and among equal nodes takes the lowest.
    """
    drawn = recipe(cell, seed)
    jobs = tuple(_job(replica_set) for replica_set in drawn.replica_sets)
    snapshot = ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=f"{cell.name}-{seed}"),
        nodes=tuple(_node(drawn, n) for n in range(1, cell.nodes + 1)),
    )
    instance = build_instance(snapshot, jobs, load_model("placement-first"))
    start = construct(
        instance, Deadline(None), How(Strategy.KUBE_DEFAULT, preempt=False, in_order=True)
    )
    started = tuple(_started(job, j, start, snapshot.nodes) for j, job in enumerate(jobs))
    running = tuple(job for job in started if job.pod_sets[0].assignments)
    return Documents(
        snapshot.model_copy(update={"jobs": running}),
        tuple(job for job in started if not job.pod_sets[0].assignments),
    )


def cases(
    nodes: Sequence[int],
    pods_per_node: Sequence[int],
    priorities: Sequence[int],
    usage_percent: Sequence[int],
    seeds: Sequence[int],
) -> list[Case]:
    """List the instances of a part of the grid, small ones first."""
    cells = [
        Cell(n, pods, k, usage)
        for n in nodes
        for pods in pods_per_node
        for k in priorities
        for usage in usage_percent
    ]
    return [_case(cell, seed) for cell in cells for seed in seeds]


def _case(cell: Cell, seed: int) -> Case:
    parameters = {
        "nodes": str(cell.nodes),
        "pods": str(cell.pods_per_node),
        "priorities": str(cell.priorities),
        "usage": f"{cell.usage_percent / 100:.2f}",
    }
    return Case(SUITE, cell.name, seed, parameters, lambda: documents(cell, seed))


def _stream(seed: int, *labels: object) -> random.Random:
    digest = hashlib.blake2b(digest_size=16)
    digest.update(seed.to_bytes(16, "big"))
    for label in labels:
        digest.update(b"\0" + str(label).encode())
    return random.Random(int.from_bytes(digest.digest(), "big"))


def _sizes(stream: random.Random, pods: int) -> Iterator[int]:
    while pods > 0:
        top = min(4, pods)
        bottom = 1 if pods <= 4 else min(1, top)
        size = stream.randint(bottom, top)
        yield size
        pods -= size


def _capacity(cell: Cell, sizes: Sequence[int], requests: Sequence[int]) -> int:
    total = sum(pods * request for pods, request in zip(sizes, requests, strict=True))
    # Floating point as published: the last unit of a capacity depends on it.
    return max(*requests, math.ceil(math.ceil(total / (cell.usage_percent / 100)) / cell.nodes))


def _node(drawn: Recipe, number: int) -> Node:
    slots = max(512, 3 * drawn.cell.nodes * drawn.cell.pods_per_node)
    return Node(
        name=f"kwok-node-{number}",
        allocatable={"cpu": f"{drawn.cpu_milli}m", "memory": drawn.memory_bytes, "pods": slots},
    )


def _job(replica_set: ReplicaSet) -> Job:
    requests: dict[str, str | int] = {
        "cpu": f"{replica_set.cpu_milli}m",
        "memory": replica_set.memory_bytes,
    }
    podset = PodSet(count=replica_set.pods, min_count=0, requests=requests)
    return Job(name=replica_set.name, priority=replica_set.priority, pod_sets=(podset,))


def _started(job: Job, s: int, start: Placement, nodes: Sequence[Node]) -> Job:
    places = sorted(start.podsets[s].items())
    assignments = tuple(Assignment(node=nodes[spot.node].name, count=pods) for spot, pods in places)
    podset = job.pod_sets[0].model_copy(update={"assignments": assignments})
    return job.model_copy(update={"pod_sets": (podset,)})
