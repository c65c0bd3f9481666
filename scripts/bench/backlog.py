"""Half full clusters with a backlog of four times what there is room for: how many have to wait?

Who runs stays where it is, and is as important as who waits. `one`: jobs of one
priority. `models`: they name GPU models that they can do with. `priorities`: they have three.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from kantopt.schema.base import API_VERSION, Expression
from kantopt.schema.jobs import Assignment, Job, NodeSelectorTerm, PodSet
from kantopt.schema.snapshot import ClusterSnapshot, Node, SnapshotMetadata
from scripts.bench.case import Documents
from scripts.bench.gang_cluster import GPU

SUITE = "backlog"
KINDS = ("one", "models", "priorities")
_GPUS, _TOP = 8, 10
_MODEL, _MODELS = "gpu-model", ("a100", "a100", "h100", "v100")
_WANTED = (("a100",), ("h100",), ("v100",), ("a100", "h100"), ("a100", "v100"))
_SIZES = (1, 1, 2, 2, 3, 4, 6)
"""GPUs of pods that do not take whole nodes."""
_GANGS = (1, 2, 3, 4, 5, 6, 8, 10)
"""Pods of jobs that do."""


def drawn(kind: str, nodes: int, seed: int) -> Documents:
    """Draw a cluster of a kind, and the jobs that wait."""
    rng = random.Random(seed)
    names = [f"node-{n:04d}" for n in range(nodes)]
    taken = dict.fromkeys(names, 0) | {
        name: rng.choice((4, 6, _GPUS, _GPUS)) for name in rng.sample(names, nodes // 2)
    }
    running = [_job(f"run-{name}", 1, gpus, _TOP, on=name) for name, gpus in taken.items() if gpus]
    left = 4 * sum(_GPUS - gpus for gpus in taken.values())
    waiting: list[Job] = []
    while left > 0:
        whole = rng.random() < 0.45
        pods, gpus = (rng.choice(_GANGS), _GPUS) if whole else (1, rng.choice(_SIZES))
        models = rng.choice(_WANTED) if kind == "models" else ()
        priority = rng.choice((0, 5, _TOP)) if kind == "priorities" else _TOP
        waiting.append(_job(f"job-{len(waiting)}", pods, gpus, priority, models=models))
        left -= pods * gpus
    snapshot = ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(
            name=f"{kind}-{nodes}-{seed}", captured_at="2026-09-01T12:00:00Z"
        ),
        nodes=tuple(
            Node(
                name=name,
                labels={_MODEL: rng.choice(_MODELS)},
                allocatable={"cpu": 128, "pods": 110, GPU: _GPUS},
            )
            for name in names
        ),
        jobs=tuple(running),
    )
    return Documents(snapshot, tuple(waiting))


def _job(
    name: str, pods: int, gpus: int, priority: int, *, on: str = "", models: Sequence[str] = ()
) -> Job:
    term = Expression(key=_MODEL, operator="In", values=tuple(models))
    podset = PodSet(
        count=pods,
        requests={"cpu": 8 * gpus, GPU: gpus},
        node_affinity=(NodeSelectorTerm(match_expressions=(term,)),) if models else (),
        assignments=(Assignment(node=on, count=pods),) if on else (),
    )
    return Job(name=name, priority=priority, movable=not on, pod_sets=(podset,))
