"""Thousands of jobs that share something with all others, and a long queue: whether limits hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kantopt.schema.base import API_VERSION, HostPort, LabelSelector
from kantopt.schema.jobs import (
    Assignment,
    Job,
    PodAffinityTerm,
    PodAntiAffinityTerm,
    PodSet,
    TopologySpreadConstraint,
)
from kantopt.schema.snapshot import ClusterSnapshot, Node, Queue, QueueResource, SnapshotMetadata
from scripts.bench.case import Case, Documents
from scripts.bench.gang_cluster import GPU

SUITE = "alike"
_RACK, _HOST = "bench.example/rack", "kubernetes.io/hostname"
_OF_ALL = {"bench.example/part-of": "platform"}
_ALL = LabelSelector(match_labels=_OF_ALL)
_RUNNING, _WAITING, _QUEUED = 4, 0.6, 50
"""Jobs of two pods that run and that wait, and those of one pod that queue, for each node."""


def _spread(_: int) -> dict[str, Any]:
    """Ask that no node has many more pods of all than another."""
    spread = TopologySpreadConstraint(max_skew=3000, topology_key=_HOST, label_selector=_ALL)
    return {"labels": _OF_ALL, "topology_spread_constraints": (spread,)}


def _near(_: int) -> dict[str, Any]:
    """Ask for a rack that has some of all."""
    near = PodAffinityTerm(topology_key=_RACK, label_selector=_ALL)
    return {"labels": _OF_ALL, "pod_affinity": (near,)}


def _apart(i: int) -> dict[str, Any]:
    """Let every second job keep away from a fortieth of them."""
    away = PodAntiAffinityTerm(topology_key=_HOST, label_selector=_ALL)
    return {"labels": _OF_ALL if i % 40 == 0 else {}, "pod_anti_affinity": (away,) * (i % 2 == 0)}


def _ports(i: int) -> dict[str, Any]:
    """Let every job hold one of 200 ports."""
    return {"host_ports": (HostPort(host_port=8000 + i % 200),)}


def _cohort(_: int) -> dict[str, Any]:
    """Ask for nothing: each job has a queue of its own, and all queues are of one cohort."""
    return {}


_KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "spread": _spread,
    "near": _near,
    "apart": _apart,
    "ports": _ports,
    "cohort": _cohort,
}


def cases(nodes: Sequence[int], seeds: Sequence[int]) -> list[Case]:
    """List clusters of so many nodes on which jobs share something, and empty ones with a queue."""
    found = []
    for n in nodes:
        for seed in seeds:
            makes = {kind: partial(_platform, n, seed, said) for kind, said in _KINDS.items()}
            for kind, make in (*makes.items(), ("queue", partial(_queue, n, seed))):
                parameters = {"nodes": str(n), "kind": kind}
                found.append(Case(SUITE, f"n{n}-{kind}-{seed}", seed, parameters, make))
    return found


def _snapshot(nodes: int, jobs: Sequence[Job]) -> ClusterSnapshot:
    return ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=SUITE),
        nodes=tuple(
            Node(
                name=f"n{n:05}",
                labels={_HOST: f"n{n:05}", _RACK: f"r{n // 16}"},
                allocatable={"cpu": 64, "memory": "512Gi", "pods": 110, GPU: 8},
            )
            for n in range(nodes)
        ),
        jobs=tuple(jobs),
    )


def _job(rng: random.Random, i: int, count: int, said: dict[str, Any], sizes: Sequence[int]) -> Job:
    cpus, gpus = rng.choice((1, 2, 4, 8)), rng.choice(sizes)
    requests: dict[str, str | int] = {"cpu": cpus, "memory": f"{4 * cpus}Gi"}
    if gpus:
        requests[GPU] = gpus
    podset = PodSet(count=count, requests=requests, **said)
    return Job(name=f"j{i:06}", priority=rng.choice((0, 100)), pod_sets=(podset,))


def _platform(nodes: int, seed: int, said: Callable[[int], dict[str, Any]]) -> Documents:
    rng, running = random.Random(seed), []
    cpu, gpu = [60] * nodes, [8] * nodes
    for i in range(_RUNNING * nodes):
        job = _job(rng, i, 2, said(i), (0, 0, 1, 2))
        podset = job.pod_sets[0]
        cpus, gpus = int(podset.requests["cpu"]), int(podset.requests.get(GPU, 0))
        able = [n for n in rng.sample(range(nodes), 20) if cpu[n] >= cpus and gpu[n] >= gpus][:2]
        if len(able) == 2:
            for n in able:
                cpu[n] -= cpus
                gpu[n] -= gpus
            there = tuple(Assignment(node=f"n{n:05}") for n in able)
            podset = podset.model_copy(update={"assignments": there})
            running.append(job.model_copy(update={"pod_sets": (podset,)}))
    first = _RUNNING * nodes
    waiting = range(first, first + int(_WAITING * nodes))
    jobs = tuple(_job(rng, i, 2, said(i), (0, 0, 1, 2)) for i in waiting)
    if said is _cohort:
        return _with_queues(Documents(_snapshot(nodes, running), jobs))
    return Documents(_snapshot(nodes, running), jobs)


def _with_queues(made: Documents) -> Documents:
    """Give each job a queue, and all of them together quota for three quarters of the GPUs."""
    gpus = 8 * len(made.snapshot.nodes) * 3 // 4
    jobs = made.jobs
    quota = [gpus * (i + 1) // len(jobs) - gpus * i // len(jobs) for i in range(len(jobs))]
    queues = tuple(
        Queue(
            name=f"of-{job.name}",
            cohort="all",
            resources=(QueueResource(name=GPU, nominal_quota=quota[i]),),
        )
        for i, job in enumerate(jobs)
    )
    owned = tuple(job.model_copy(update={"queue_name": f"of-{job.name}"}) for job in jobs)
    running = len(made.snapshot.jobs)
    more = {"jobs": owned[:running], "queues": queues}
    return Documents(made.snapshot.model_copy(update=more), owned[running:])


def _queue(nodes: int, seed: int) -> Documents:
    rng = random.Random(seed)
    jobs = (_job(rng, i, 1, {}, (0, 1, 1, 2, 4, 8)) for i in range(_QUEUED * nodes))
    return Documents(_snapshot(nodes, ()), tuple(jobs))
