"""Goals on full clusters: room for a rack is free, in pieces, and pods make way for each other.

Nodes are cut into jobs of one pod, all but a rack of them; then pods move there, and others into
the holes that they leave. So a rack can be emptied, or a gang placed in it, by no more moves than
that took.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from kantopt.errors import UsageError
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Assignment, Job, PodSet, TopologyRequest
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    Node,
    SnapshotMetadata,
    Topology,
    TopologyLevel,
)
from kantopt.schema.validation import validate
from scripts.bench.case import Case, Documents
from scripts.bench.models import MakeModel

SUITE = "goals"
MODELS = ("empty-nodes", "empty-rack", "drain-rack", "fit")
_LEVELS = ("block", "rack")
_RACK, _BLOCK = 8, 32
_GPU, _GPUS, _CPUS = "nvidia.com/gpu", 8, 128
_CUTS = ((8,), (4, 4), (4, 2, 2), (2, 2, 2, 2), (4, 2, 1, 1), (2, 2, 2, 1, 1), (1,) * 8)
"""GPUs of the pods of a node."""
_MOVED = 80
"""Pods that move to the rack that was left empty, until it is full, and others into their holes."""

Pod = tuple[int, int]
"""GPUs and CPUs."""


def cases(nodes: Sequence[int], seeds: Sequence[int]) -> list[Case]:
    """List clusters of each size."""
    return [
        Case(SUITE, f"n{size:04d}", seed, {"nodes": str(size)}, _made(size, seed))
        for size in nodes
        for seed in seeds
    ]


def model(name: str) -> MakeModel:
    """Return a maker of the model that asks for a goal.

    Raises
    ------
    UsageError
        If there is no such goal.
    """
    if name not in MODELS:
        raise UsageError(f"--models: found {name}, expected one of {', '.join(MODELS)}")
    return lambda documents: _model(name, documents)


def _model(name: str, documents: Documents) -> Model:
    nodes = documents.snapshot.nodes
    goal = {
        "empty-nodes": {"nodes_in_use": {"target": len(nodes) - _RACK}},
        "empty-rack": {"domains_in_use": {"level": "rack", "target": len(nodes) // _RACK - 1}},
        "drain-rack": "undrained",
        "fit": {"unplaced": {"by": "priority", "unit": "job", "target": 0}},
    }[name]
    asked = {
        "apiVersion": API_VERSION,
        "kind": "Model",
        "metadata": {"name": name},
        "objectives": [goal, "moves"],
        "limits": {"evictions": 0},
        "pending": ["default/gang"] if name == "fit" else [],
        "drain": [node.name for node in nodes[:_RACK]] if name == "drain-rack" else [],
    }
    return validate(RawDocument("model", 0, asked), Model)


def _made(nodes: int, seed: int) -> Callable[[], Documents]:
    return lambda: full(nodes, seed)


def full(nodes: int, seed: int) -> Documents:
    """Draw a full cluster of some nodes, and a gang that waits for a rack of it."""
    rng = random.Random(seed)
    on: list[list[Pod]] = [[] for _ in range(nodes)]
    for n in range(_RACK, nodes):
        gpus = rng.choice(_CUTS)
        on[n] = [(g, max(1, round(_CPUS / _GPUS * g * rng.uniform(0.6, 0.95)))) for g in gpus]
    for _ in range(_MOVED):
        there = rng.randrange(_RACK)
        left = _moves(on, rng, there, range(_RACK, nodes), _GPUS // 2)
        if left is not None:
            _moves(on, rng, left, range(_RACK, nodes), _GPUS // 2)
    jobs = (
        Job(
            name=f"job-{n}-{i}",
            pod_sets=(
                PodSet(
                    count=1,
                    requests={"cpu": cpus, _GPU: gpus},
                    assignments=(Assignment(node=_name(n)),),
                ),
            ),
        )
        for n, pods in enumerate(on)
        for i, (gpus, cpus) in enumerate(pods)
    )
    gang = Job(
        name="gang",
        priority=100,
        topology_request=TopologyRequest(required="rack"),
        pod_sets=(PodSet(count=_RACK, requests={"cpu": _CPUS // 2, _GPU: _GPUS}),),
    )
    snapshot = ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=f"full-{nodes}-{seed}", captured_at="2026-09-01T12:00:00Z"),
        topology=Topology(levels=tuple(TopologyLevel(name=n, node_label=n) for n in _LEVELS)),
        nodes=tuple(map(_node, range(nodes))),
        jobs=tuple(jobs),
    )
    return Documents(snapshot, (gang,))


def _moves(
    on: list[list[Pod]], rng: random.Random, to: int, sources: Sequence[int], most: int
) -> int | None:
    """Move a pod of at most so many GPUs to a node that has room for it; say where it was."""
    gpus, cpus = (whole - sum(pod[r] for pod in on[to]) for r, whole in enumerate((_GPUS, _CPUS)))
    for n in rng.sample(sources, len(sources)):
        for pod in on[n]:
            if n != to and pod[0] <= min(gpus, most) and pod[1] <= cpus:
                on[n].remove(pod)
                on[to].append(pod)
                return n
    return None


def _name(n: int) -> str:
    return f"node-{n:04d}"


def _node(n: int) -> Node:
    path = (f"b{n // _BLOCK:02d}", f"r{n // _RACK:03d}")
    return Node(
        name=_name(n),
        labels=dict(zip(_LEVELS, path, strict=True)),
        allocatable={"cpu": _CPUS, "pods": 110, _GPU: _GPUS},
    )
