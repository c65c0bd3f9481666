"""Full clusters on which important gangs take the place of others: whose, and how much of it.

`racks`: gangs that each need a rack, nodes cut into pods of two priorities, those of the lower in
gangs over many nodes, as no rack has room without them. `surplus`: elastic gangs of three
priorities whose members above the minimum would do for the jobs that wait. `gangs`: rigid and
elastic gangs of three priorities over many nodes, and gangs and single pods of five that wait.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Assignment, Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    Node,
    SnapshotMetadata,
    Topology,
    TopologyLevel,
)
from scripts.bench.case import Documents

SUITE = "victims"
KINDS = ("racks", "surplus", "gangs")
_GPU, _GPUS, _CPUS_PER_GPU = "nvidia.com/gpu", 8, 12
_RACK = 4
_CUTS = ((8,), (4, 4), (4, 2, 2), (2, 2, 2, 2), (4, 2, 1, 1), (2, 2, 2, 1, 1))
"""GPUs of the pods of a node."""
_NEW = 1_000
"""Priority of who waits."""


def drawn(kind: str, nodes: int, seed: int) -> Documents:
    """Draw a full cluster of a kind, and who waits for room on it."""
    rng = random.Random(seed)
    draw = {"racks": _racks, "surplus": _surplus, "gangs": _gangs}[kind]
    running, waiting = draw(nodes, rng)
    snapshot = ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(
            name=f"{kind}-{nodes}-{seed}", captured_at="2026-09-01T12:00:00Z"
        ),
        topology=Topology(levels=(TopologyLevel(name="rack", node_label="rack"),)),
        nodes=tuple(map(_node, range(nodes))),
        jobs=tuple(running),
    )
    return Documents(snapshot, tuple(waiting))


def _racks(nodes: int, rng: random.Random) -> tuple[Iterable[Job], Iterable[Job]]:
    by_size: dict[int, list[int]] = {}
    parts = [(n, gpus) for n in range(nodes) for gpus in rng.choice(_CUTS)]
    rng.shuffle(parts)
    for n, gpus in parts:
        by_size.setdefault(gpus, []).append(n)
    running: list[Job] = []
    for gpus, places in by_size.items():
        while places:
            least = rng.random() < 0.5 and gpus < _GPUS
            pods = min(len(places), rng.randint(2, 6) if least else 1)
            on = [places.pop() for _ in range(pods)]
            running.append(_job(f"run-{len(running)}", gpus, on, 10 if least else 100))
    close = TopologyRequest(required="rack")
    waits = (_job(f"new-{i}", _GPUS, [], _NEW, count=_RACK) for i in range(nodes // 32))
    return running, (job.model_copy(update={"topology_request": close}) for job in waits)


def _surplus(nodes: int, rng: random.Random) -> tuple[Iterable[Job], Iterable[Job]]:
    free = [_GPUS] * nodes
    running: list[Job] = []
    while sum(free) > nodes // 8:
        gpus = rng.choice([size for size in (1, 2, 4) if size <= max(free)])
        wanted, least = rng.randint(2, 6), rng.randint(1, 2)
        on: list[int] = []
        for _ in range(wanted):
            roomy = [n for n in range(nodes) if free[n] >= gpus]
            if roomy:
                on.append(rng.choice(roomy[:40]))
                free[on[-1]] -= gpus
        priority, least = rng.choice((0, 10, 20)), min(least, len(on))
        running.append(_job(f"run-{len(running)}", gpus, on, priority, least=least))
    sizes = ((_GPUS, _GPUS // 2)[i % 2] for i in range(nodes // 4))
    return running, (_job(f"new-{i}", gpus, [], _NEW, count=2) for i, gpus in enumerate(sizes))


def _gangs(nodes: int, rng: random.Random) -> tuple[Iterable[Job], Iterable[Job]]:
    free = [_GPUS] * nodes
    running: list[Job] = []
    while sum(free) > nodes // 10:
        gpus = rng.choice([size for size in (1, 1, 2, 2, 4, _GPUS) if size <= max(free)])
        roomy = [n for n in range(nodes) if free[n] >= gpus]
        on = rng.sample(roomy, min(len(roomy), rng.randint(2, 8)))
        for n in on:
            free[n] -= gpus
        least = rng.randint(1, len(on) - 1) if len(on) > 1 and rng.random() < 0.35 else None
        running.append(_job(f"run-{len(running)}", gpus, on, rng.choice((1, 10, 100)), least=least))
    waiting = []
    for i in range(nodes // 6):
        priority = rng.choice((_NEW, _NEW, 500, 100, 10))
        gpus, count = rng.choice((1, 2, 4, 4, _GPUS, _GPUS)), rng.choice((1, 1, 1, 2, 3, 4))
        waiting.append(_job(f"new-{i}", gpus, [], priority, count=count))
    return running, waiting


def _job(
    name: str, gpus: int, on: list[int], priority: int, *, count: int = 0, least: int | None = None
) -> Job:
    places = {n: on.count(n) for n in sorted(on)}
    podset = PodSet(
        count=count or len(on),
        min_count=least,
        requests={"cpu": _CPUS_PER_GPU * gpus, _GPU: gpus},
        assignments=tuple(Assignment(node=_name(n), count=pods) for n, pods in places.items()),
    )
    return Job(name=name, priority=priority, pod_sets=(podset,))


def _name(n: int) -> str:
    return f"node-{n:04d}"


def _node(n: int) -> Node:
    return Node(
        name=_name(n),
        labels={"rack": f"r{n // _RACK:03d}"},
        allocatable={"cpu": 128, "pods": 110, _GPU: _GPUS},
    )
