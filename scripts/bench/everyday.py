"""Clusters as they are found, of hundreds of nodes: full, with all kinds of pods on shared nodes.

Blocks of racks, daemons, services under budgets, teams that borrow from each other, jobs that have
run for hours and bear few restarts, elastic gangs, scavengers; what waits is more important than
half of what runs, and some of it must be in one block or rack.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

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
from scripts.bench.case import Case, Documents

SUITE = "everyday"
USAGE = 0.97
_LEVELS = ("block", "rack", "hostname")
_RACK, _BLOCK = 16, 64
"""Nodes of a rack and of a block."""
_GPU, _GPUS, _CPUS = "nvidia.com/gpu", 8, 96
_NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
_PRIORITIES, _RUN, _WAIT = (10_000, 1000, 100, 1), (15, 36, 40, 9), (30, 35, 25, 10)
"""Services and production, research, batch, scavengers; how often each runs and waits."""
_TEAMS = ("research", "batch", "serving")
_WAITING = 0.15
"""Jobs that wait, for each node."""


def cases(nodes: Sequence[int], seeds: Sequence[int]) -> list[Case]:
    """List clusters of each size."""
    return [
        Case(SUITE, f"n{size:04d}", seed, {"nodes": str(size)}, _made(size, seed))
        for size in nodes
        for seed in seeds
    ]


def _made(nodes: int, seed: int) -> Callable[[], Documents]:
    return lambda: everyday(nodes, seed)


def everyday(nodes: int, seed: int) -> Documents:
    """Draw a cluster of some nodes and what waits for room in it."""
    draw = _Draw(nodes, seed)
    running = tuple(draw.fill())
    waiting = tuple(draw.job(f"wait-{i}", _WAIT) for i in range(max(10, int(nodes * _WAITING))))
    daemon = PodSet(
        count=nodes,
        requests={"cpu": "500m"},
        assignments=tuple(Assignment(node=_name(n)) for n in range(nodes)),
    )
    agent = Job(
        name="agent",
        priority=2_000_000,
        preemptible=False,
        movable=False,
        daemon=True,
        pod_sets=(daemon,),
    )
    quota = nodes * _GPUS // len(_TEAMS)
    snapshot = ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=f"everyday-{nodes}-{seed}", captured_at=_time(0)),
        topology=Topology(levels=tuple(TopologyLevel(name=n, node_label=n) for n in _LEVELS)),
        nodes=tuple(map(_node, range(nodes))),
        jobs=(agent, *running),
        queues=tuple(
            Queue(
                name=team,
                cohort="all",
                resources=(QueueResource(name=_GPU, nominal_quota=quota, borrowing_limit=quota),),
            )
            for team in _TEAMS
        ),
        pod_disruption_budgets=tuple(
            PodDisruptionBudget(
                name=job.name,
                selector=LabelSelector(match_labels={"app": job.name}),
                max_unavailable=1,
            )
            for job in running
            if job.name.startswith("service")
        ),
    )
    return Documents(snapshot, waiting)


def _name(n: int) -> str:
    return f"node-{n:04d}"


def _node(n: int) -> Node:
    path = (f"b{n // _BLOCK:02d}", f"r{n // _RACK:03d}", _name(n))
    return Node(
        name=_name(n),
        labels=dict(zip(_LEVELS, path, strict=True)),
        allocatable={"cpu": _CPUS, "pods": 110, _GPU: _GPUS},
    )


def _time(hours: float) -> str:
    return (_NOW - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Draw:
    """Jobs at random, and nodes on which they run."""

    def __init__(self, nodes: int, seed: int) -> None:
        self._rng = random.Random(seed)
        self._free = [(_CPUS - 1, _GPUS)] * nodes

    def fill(self) -> Iterator[Job]:
        """Yield jobs that run until so many GPUs are taken; gangs where most is free together."""
        left = (1 - USAGE) * len(self._free) * _GPUS
        i = 0
        while sum(gpus for _, gpus in self._free) > left:
            job = self.job(f"run-{i}", _RUN, running=True)
            podset = job.pod_sets[0]
            there = self._places(podset)
            i += 1
            if there is None:
                continue
            here = {
                "assignments": tuple(Assignment(node=_name(n), count=k) for n, k in there.items()),
                "start_time": _time(self._rng.uniform(0.1, 72)),
            }
            yield job.model_copy(update={"pod_sets": (podset.model_copy(update=here),)})

    def _places(self, podset: PodSet) -> dict[int, int] | None:
        """Take room for all pods; ``None`` if there is none in a few tries."""
        cpu, gpus = int(podset.requests["cpu"]), int(podset.requests.get(_GPU, 0))
        first = self._rng.randrange(len(self._free))
        found: dict[int, int] = {}
        before = list(self._free)
        for n in [*range(first, len(self._free)), *range(first)]:
            has = self._free[n]
            pods = min(has[0] // cpu, has[1] // gpus if gpus else 3, podset.count)
            pods = min(pods, podset.count - sum(found.values()))
            if pods:
                found[n] = pods
                self._free[n] = has[0] - pods * cpu, has[1] - pods * gpus
            if sum(found.values()) == podset.count:
                return found
        self._free = before
        return None

    def job(self, name: str, weights: Sequence[int], *, running: bool = False) -> Job:
        """Draw a gang, a service, or a job of few pods."""
        rng = self._rng
        priority = rng.choices(_PRIORITIES, weights)[0]
        kind = rng.choices(("gang", "small", "service"), (25, 60, 15))[0]
        queue = rng.choice(_TEAMS)
        if kind == "service":
            name = f"service-{name}"
            asks: dict[str, str | int] = {"cpu": rng.choice((1, 2, 4)), _GPU: rng.choice((0, 1))}
            podset = PodSet(
                count=rng.randint(2, 8), min_count=0, labels={"app": name}, requests=asks
            )
            return Job(
                name=name, queue_name="serving", priority=max(priority, 100), pod_sets=(podset,)
            )
        if kind == "small":
            gpus = rng.choice((1, 1, 1, 2, 2, 4, 8))
            podset = PodSet(
                count=rng.choice((1, 1, 1, 2, 4)),
                min_count=0,
                requests={"cpu": 4 * gpus, _GPU: gpus},
            )
            bears = rng.choice((0, 1, 1, None)) if running else None
            return Job(
                name=name, queue_name=queue, priority=priority, max_moves=bears, pod_sets=(podset,)
            )
        size = rng.choice((2, 2, 4, 4, 8, 16, 24))
        least = size // 2 if rng.random() < 0.25 else size
        wish = rng.choice(("block", "rack" if size <= _RACK else "block", "", ""))
        close = TopologyRequest(required=wish) if wish and not running else None
        return Job(
            name=name,
            queue_name=queue,
            priority=priority,
            max_moves=rng.choice((0, 2, None)) if running else None,
            topology_request=close,
            pod_sets=(PodSet(count=size, min_count=least, requests={"cpu": 64, _GPU: _GPUS}),),
        )
