"""Full clusters on which one important job needs room: cheap victims are hidden among many."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

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
from scripts.bench.gang_cluster import GPU

Kind = Literal["alike", "costs", "gangs"]
KINDS: tuple[Kind, ...] = ("alike", "costs", "gangs")
JOB = "wanted"
_GPUS = 8
_RACK = 8
_PRIORITIES = (10, 50, 100)
_SHARES = (60, 25, 15)


@dataclass(frozen=True, slots=True)
class Crowd:
    """What a cluster is made of.

    ``alike``: all running pods have one priority and one cost; ``costs``: three priorities, costs
    from 1 to 5; ``gangs``: also gangs over several nodes, some of them victims as a whole.
    """

    nodes: int
    kind: Kind
    seed: int


def crowded(crowd: Crowd) -> Documents:
    """Fill every GPU, and ask for whole nodes, in one rack at times.

    A few nodes hold one or two old pods of the lowest priority: cheap to clear. All others hold
    small pods, many of which started later.
    """
    rng = random.Random(f"{crowd.nodes} {crowd.kind} {crowd.seed}")
    wanted = rng.randint(1, 3)
    racks = -(-crowd.nodes // _RACK)
    rack = rng.randrange(racks)
    hosts = [n for n in range(crowd.nodes) if n // _RACK == rack]
    cheap = set(rng.sample(hosts, min(len(hosts), wanted + rng.randint(0, 1))))
    make = _Jobs(rng, crowd.kind)
    free = [_GPUS] * crowd.nodes
    if crowd.kind == "gangs":
        for _ in range(crowd.nodes // 2):
            size, count = rng.choice((1, 2, 4)), rng.randint(2, 4)
            fitting = [n for n in range(crowd.nodes) if n not in cheap and free[n] >= size]
            if len(fitting) >= count:
                nodes = rng.sample(fitting, count)
                make.gang(nodes, size)
                for n in nodes:
                    free[n] -= size
    for n in range(crowd.nodes):
        while free[n]:
            sizes = (4, 8) if n in cheap else (1, 1, 2, 4)
            size = rng.choice([size for size in sizes if size <= free[n]])
            make.single(n, size, cheap=n in cheap)
            free[n] -= size
    required = TopologyRequest(required="rack") if rng.random() < 0.5 else None
    asked = Job(
        name=JOB,
        priority=1000,
        pod_sets=(
            PodSet(count=wanted, requests={"cpu": 8, GPU: _GPUS}, topology_request=required),
        ),
    )
    return Documents(_snapshot(crowd, tuple(make.jobs)), (asked,))


class _Jobs:
    """Running jobs, one after the other."""

    def __init__(self, rng: random.Random, kind: Kind) -> None:
        self._rng = rng
        self._kind = kind
        self.jobs: list[Job] = []

    def single(self, n: int, gpus: int, *, cheap: bool) -> None:
        """Run one pod on a node."""
        low = cheap or self._kind == "alike"
        priority = _PRIORITIES[0] if low else self._rng.choices(_PRIORITIES, _SHARES)[0]
        cost = 1 if low else self._rng.randint(1, 5)
        # The cheap ones started long ago: whoever looks at the latest first comes to them last.
        self._add(priority, cost, (n,), gpus, hour=1 if cheap else self._rng.randint(2, 20))

    def gang(self, nodes: list[int], gpus: int) -> None:
        """Run a gang of one pod on each of some nodes."""
        whole = self._rng.random() < 0.3
        priority = self._rng.choices(_PRIORITIES, _SHARES)[0]
        cost = self._rng.randint(1, 5)
        self._add(priority, cost, tuple(nodes), gpus, hour=self._rng.randint(2, 20), whole=whole)

    def _add(
        self,
        priority: int,
        cost: int,
        nodes: tuple[int, ...],
        gpus: int,
        *,
        hour: int,
        whole: bool = False,
    ) -> None:
        places = tuple(Assignment(node=_name(n)) for n in nodes)
        requests: dict[str, str | int] = {"cpu": gpus, GPU: gpus}
        self.jobs.append(
            Job(
                name=f"run-{len(self.jobs):04d}",
                priority=priority,
                disruption_cost=cost,
                disruption_mode="all" if whole else "single",
                start_time=f"2026-09-01T{hour:02}:{self._rng.randrange(60):02}:00Z",
                pod_sets=(PodSet(count=len(nodes), requests=requests, assignments=places),),
            )
        )


def _snapshot(crowd: Crowd, jobs: tuple[Job, ...]) -> ClusterSnapshot:
    return ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name="crowded", captured_at="2026-09-02T00:00:00Z"),
        topology=Topology(levels=(TopologyLevel(name="rack", node_label="rack"),)),
        nodes=tuple(
            Node(
                name=_name(n),
                labels={"rack": f"r{n // _RACK:02}"},
                allocatable={"cpu": 16, GPU: _GPUS, "pods": 110},
            )
            for n in range(crowd.nodes)
        ),
        jobs=jobs,
    )


def _name(n: int) -> str:
    return f"node-{n:03}"
