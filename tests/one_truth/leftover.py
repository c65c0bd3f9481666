"""Clusters full of pods that give way to larger ones, beside jobs that may evict nobody."""

from __future__ import annotations

import random
from typing import Any

from kantopt.planning.question import Question, question_of
from kantopt.schema.base import API_VERSION
from kantopt.schema.raw import RawDocument
from tests.drafts import GPU, Document


def leftover_question(seed: int) -> Question:
    """Draw a cluster in which a victim's room is more than its preemptor takes."""
    rng = random.Random(f"leftover {seed}")
    nodes, running, pending = [], [], []
    for n in range(rng.randint(1, 3)):
        gpus = rng.choice((4, 8))
        labels = {"topology/block": "x", "topology/rack": "ab"[n % 2]}
        room = {"cpu": 64, "pods": 110, GPU: gpus}
        nodes.append({"name": f"n{n}", "labels": labels, "allocatable": room})
        taken = gpus - rng.choice((0, 0, 1, 2))
        if rng.random() < 0.85:
            running.append(_job(f"r{n}", 10, 1, taken, f"n{n}"))
    for i in range(rng.randint(1, 2)):
        pending.append(_job(f"large{i}", 100, 1, rng.randint(3, 6)))
    for i in range(rng.randint(1, 3)):
        more: dict[str, Any] = {"preemptionPolicy": "Never"} if rng.random() < 0.3 else {}
        priority = rng.choice((5, 10, 10, 50)) if more else rng.choice((5, 10, 10))
        count = rng.choice((1, 1, 2))
        least = rng.choice((0, count))
        pending.append(_job(f"small{i}", priority, count, rng.randint(1, 3), least=least, **more))
    return written(f"seed {seed}", nodes, running, pending)


def written(
    name: str, nodes: list[Document], running: list[Document], pending: list[Document]
) -> Question:
    """Return the question of a cluster with blocks and racks that jobs run on and wait for."""
    levels = [{"name": level, "nodeLabel": f"topology/{level}"} for level in ("block", "rack")]
    cluster = {
        "kind": "ClusterSnapshot",
        "topology": {"levels": levels},
        "nodes": nodes,
        "jobs": running,
    }
    documents = (cluster, {"kind": "JobList", "jobs": pending})
    return question_of(
        [
            RawDocument(name, i, {"apiVersion": API_VERSION, **data})
            for i, data in enumerate(documents)
        ]
    )


def _job(
    name: str, priority: int, count: int, gpus: int, *on: str, least: int = 0, **more: Any
) -> dict[str, Any]:
    podset: dict[str, Any] = {"name": "w", "count": count, "requests": {GPU: gpus}}
    if least:
        podset["minCount"] = least
    if on:
        podset["assignments"] = [{"node": node, "count": 1} for node in on]
    return {"name": name, "priority": priority, "podSets": [podset], **more}
