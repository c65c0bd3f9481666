"""A cluster as they are found: a few racks, services under budgets, teams with quotas, gangs."""

from __future__ import annotations

import random

from kantopt.schema.base import API_VERSION, LabelSelector
from kantopt.schema.jobs import Assignment, Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    Node,
    PodDisruptionBudget,
    Queue,
    QueueResource,
    SnapshotMetadata,
    Topology,
    TopologyLevel,
)
from scripts.bench.case import Documents

NODES = 30
_RACK = "topology.kubernetes.io/rack"
_GPU = "nvidia.com/gpu"
_GPUS = 8
_TEAMS = ("research", "batch", "serving")
_PRIORITIES = (1000, 100, 10)
_SERVICES = 12
_RUNNING, _WAITING = 170, 45
"""Jobs of one role that run, as far as they fit, and that wait."""
_FREE_CPUS = 6
"""CPUs that are left free of each node: nothing is ever quite full."""


def busy_cluster(seed: int) -> Documents:
    """Draw a cluster of 30 nodes with some hundred pods, and jobs that wait for room in it."""
    rng = random.Random(seed)
    cpus = [96 if n % 5 else 48 for n in range(NODES)]
    gpus = [_GPUS if n % 5 else 0 for n in range(NODES)]
    nodes = tuple(
        Node(
            name=f"node-{n:02}",
            labels={_RACK: f"r{n // 5}", "kubernetes.io/hostname": f"node-{n:02}"},
            allocatable={"cpu": cpus[n], "memory": f"{8 * cpus[n]}Gi", "pods": 110, _GPU: gpus[n]},
        )
        for n in range(NODES)
    )
    used_cpu, used_gpu = [1.0] * NODES, [0] * NODES
    daemons = tuple(_daemon(name) for name in ("node-exporter", "log-shipper"))
    running = list(daemons)
    for i in range(_RUNNING):
        job = _service(i % _SERVICES, rng, i) if i < 3 * _SERVICES else _job(f"run-{i}", rng)
        podset = job.pod_sets[0]
        cpu, gpu = float(podset.requests["cpu"]), int(podset.requests.get(_GPU, 0))
        places: dict[int, int] = {}
        for _ in range(podset.count):
            able = [
                n
                for n in range(NODES)
                if used_cpu[n] + cpu <= cpus[n] - _FREE_CPUS and used_gpu[n] + gpu <= gpus[n]
            ]
            if not able:
                break
            n = min(rng.sample(able, min(3, len(able))), key=lambda n: used_cpu[n] / cpus[n])
            used_cpu[n] += cpu
            used_gpu[n] += gpu
            places[n] = places.get(n, 0) + 1
        if sum(places.values()) < podset.count:
            for n, k in places.items():
                used_cpu[n] -= k * cpu
                used_gpu[n] -= k * gpu
            continue
        there = tuple(Assignment(node=f"node-{n:02}", count=k) for n, k in sorted(places.items()))
        running.append(
            job.model_copy(update={"pod_sets": (podset.model_copy(update={"assignments": there}),)})
        )
    waiting = tuple(_job(f"wait-{i}", rng) for i in range(_WAITING))
    budgets = tuple(
        PodDisruptionBudget(
            name=f"service-{i}",
            selector=LabelSelector(match_labels={"app": f"service-{i}"}),
            max_unavailable=1,
        )
        for i in range(_SERVICES)
    )
    queues = tuple(
        Queue(
            name=team,
            cohort="all",
            resources=(
                QueueResource(name=_GPU, nominal_quota=sum(gpus) // 3, borrowing_limit=40),
                QueueResource(name="cpu", nominal_quota=sum(cpus) // 3),
            ),
        )
        for team in _TEAMS
    )
    snapshot = ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=f"busy-{seed}"),
        topology=Topology(levels=(TopologyLevel(name="rack", node_label=_RACK),)),
        nodes=nodes,
        jobs=tuple(running),
        queues=queues,
        pod_disruption_budgets=budgets,
    )
    return Documents(snapshot, waiting)


def _daemon(name: str) -> Job:
    there = tuple(Assignment(node=f"node-{n:02}") for n in range(NODES))
    podset = PodSet(count=NODES, requests={"cpu": "500m", "memory": "512Mi"}, assignments=there)
    return Job(
        name=name, priority=2000, preemptible=False, movable=False, daemon=True, pod_sets=(podset,)
    )


def _service(app: int, rng: random.Random, number: int) -> Job:
    """A few replicas under a budget."""
    podset = PodSet(
        count=rng.randint(2, 5),
        min_count=0,
        labels={"app": f"service-{app}"},
        requests={"cpu": rng.choice((1, 2, 4)), "memory": f"{rng.choice((2, 4, 8))}Gi"},
    )
    name = f"service-{app}-{number}"
    return Job(name=name, queue_name="serving", priority=100, pod_sets=(podset,))


def _job(name: str, rng: random.Random) -> Job:
    """A gang, a job of one pod with GPUs, or one without."""
    team = rng.choice(_TEAMS)
    priority = rng.choices(_PRIORITIES, (2, 5, 3))[0]
    kind = rng.choices(("gang", "gpu", "cpu"), (2, 5, 3))[0]
    topology = None
    if kind == "gang":
        each = rng.choice((4, 8))
        count = rng.randint(2, 4)
        topology = TopologyRequest(preferred="rack") if rng.random() < 0.5 else None
        podset = PodSet(count=count, requests={"cpu": 6 * each, "memory": "64Gi", _GPU: each})
    elif kind == "gpu":
        each = rng.choice((1, 1, 2, 2, 4))
        cpu = each * rng.choice((4, 8, 10))
        podset = PodSet(count=1, requests={"cpu": cpu, "memory": "32Gi", _GPU: each})
    else:
        requests: dict[str, str | int] = {"cpu": rng.choice((2, 4, 7)), "memory": "16Gi"}
        podset = PodSet(count=rng.randint(1, 6), min_count=0, requests=requests)
    return Job(
        name=name, queue_name=team, priority=priority, topology_request=topology, pod_sets=(podset,)
    )
