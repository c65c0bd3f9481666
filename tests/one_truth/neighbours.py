"""Clusters of pods that look at each other: spread, affinity, anti-affinity, and few who move."""

from __future__ import annotations

import random
from typing import Any

from kantopt.planning.question import Question
from tests.drafts import GPU, HOST, Document
from tests.one_truth.leftover import written

RACK = "topology/rack"


def neighbours_question(seed: int) -> Question:
    """Draw a small full cluster in which pods of two labels count each other wherever they go."""
    rng = random.Random(f"neighbours {seed}")
    nodes, running = [], []
    for n in range(rng.choice((2, 3, 3))):
        labels = {"topology/block": "x", RACK: "ab"[n % 2]}
        room = {"cpu": rng.choice((2, 2, 3)), GPU: 2 if n == 0 else 0, "pods": 110}
        nodes.append({"name": f"n{n}", "labels": labels, "allocatable": room})
        left = room["cpu"]
        while left and len(running) < 6 and rng.random() < 0.85:
            left -= 1
            running.append(_job(rng, f"r{len(running)}", 1, f"n{n}"))
    pending = [_job(rng, f"p{i}", rng.randint(1, 2)) for i in range(rng.randint(1, 2))]
    return written(f"seed {seed}", nodes, running, pending)


def _job(rng: random.Random, name: str, count: int, *on: str) -> dict[str, Any]:
    """A job of which the pods have one of two labels; most that wait look at one of them."""
    podset: Document = {
        "name": "w",
        "count": count,
        "minCount": rng.choice((0, count)),
        "requests": {"cpu": 1, GPU: 0 if on else rng.choice((0, 1, 1))},
        "labels": {"team": rng.choice("xy")},
        **_look(rng, 0.3 if on else 0.9),
    }
    more: Document = {"priority": rng.choice((0, 0, 10))}
    if on:
        podset["assignments"] = [{"node": node, "count": 1} for node in on]
        more |= {"movable": rng.random() < 0.7, "preemptible": rng.random() < 0.6}
    return {"name": name, "podSets": [podset], **more}


def _look(rng: random.Random, often: float) -> Document:
    if rng.random() > often:
        return {}
    key = rng.choice((HOST, HOST, RACK))
    term: Document = {
        "topologyKey": key,
        "labelSelector": {"matchLabels": {"team": rng.choice("xy")}},
    }
    what = rng.choice(("spread", "spread", "spread", "podAffinity", "podAntiAffinity"))
    if what == "spread":
        return {"topologySpreadConstraints": [{"maxSkew": rng.choice((1, 1, 2)), **term}]}
    return {what: [term]}
