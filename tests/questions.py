"""Questions for tests of planning: one that is hard to prove, one that is quick."""

from __future__ import annotations

import random
from typing import Any

from kantopt.planning.question import Question
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate

VERSION = "kantopt/v1alpha1"


def document(data: dict[str, Any], cls: Any) -> Any:
    """Return a document as if it had been read from a file."""
    return validate(RawDocument("test.yaml", 0, {"apiVersion": VERSION, **data}), cls)


def question(
    nodes: list[dict[str, Any]],
    running: list[dict[str, Any]],
    pending: list[dict[str, Any]],
    **more: Any,
) -> Question:
    """Return a question from nodes and jobs as documents have them."""
    snapshot = {"kind": "ClusterSnapshot", "nodes": nodes, "jobs": running, **more}
    jobs = document({"kind": "JobList", "jobs": pending}, JobList).jobs
    return Question("test.yaml", document(snapshot, ClusterSnapshot), jobs, None, None, ())


def model(*objectives: Any, **more: Any) -> Model:
    """Return a model from its objectives."""
    found: Model = document({"kind": "Model", "objectives": list(objectives), **more}, Model)
    return found


def hard_question(seed: int = 0, nodes: int = 16, pods: int = 8) -> Question:
    """Return a cluster with exactly as much room as is asked for: packing it takes long.

    Pods of random size, every fourth one pending; the running ones may move.
    """
    rng = random.Random(seed)
    sizes = [(rng.randint(100, 1000), rng.randint(100, 1000)) for _ in range(nodes * pods)]
    cpu = -(-sum(c for c, _ in sizes) // nodes)
    memory = -(-sum(m for _, m in sizes) // nodes)
    room = [[cpu, memory] for _ in range(nodes)]
    running, pending = [], []
    for i, (c, m) in enumerate(sizes):
        podset = {"count": 1, "requests": {"cpu": f"{c}m", "memory": f"{m}Mi"}}
        job = {"name": f"job-{i:03d}", "priority": rng.randint(1, 4), "podSets": [podset]}
        n = max(range(nodes), key=lambda n: min(room[n][0] - c, room[n][1] - m))
        if i % 4 and room[n][0] >= c and room[n][1] >= m:
            room[n] = [room[n][0] - c, room[n][1] - m]
            podset["assignments"] = [{"node": f"n{n:02d}", "count": 1}]
            running.append(job)
        else:
            pending.append(job)
    machines = [
        {"name": f"n{n:02d}", "allocatable": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}}
        for n in range(nodes)
    ]
    return question(machines, running, pending)
