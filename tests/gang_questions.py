"""Tiny questions about whole nodes: gangs run, gangs wait, and sums say who is left out."""

from __future__ import annotations

import random

from kantopt.problem.instance import Instance
from tests.verify.world import Document, job, node, pods, question

OBJECTIVES: list[object] = [
    "unplaced",
    {"unplaced": {"by": "priority", "unit": "job"}},
    "evictions",
    {"evictions": {"by": "all", "unit": "pod"}},
]


def gang_question(seed: int) -> Instance:
    """Draw three to five nodes, gangs on some of them and gangs that wait; some are elastic."""
    rng = random.Random(seed)
    count = rng.randint(3, 5)
    free = [f"n{k}" for k in range(count)]
    nodes: list[Document] = [node(name, gpu=8) for name in free]
    jobs: list[Document] = []
    for k in range(rng.randint(1, 3)):
        size = min(rng.randint(1, 3), len(free))
        if not size:
            break
        on, free = free[:size], free[size:]
        whole = {"disruptionMode": "all", "disruptionCost": rng.randint(1, 5)}
        podset = pods(
            count=size,
            minCount=rng.choice((size, size, size, max(1, size - 1), 0)),
            cpu=0,
            gpu=8,
            on=on,
            disruptionCost=rng.randint(1, 3),
        )
        more = whole if rng.random() < 0.4 else {}
        movable, priority = rng.random() < 0.3, rng.choice((0, 0, 1))
        jobs.append(job(f"r{k}", podset, priority=priority, movable=movable, **more))
    for k in range(rng.randint(1, 3)):
        size = rng.randint(1, 4)
        least = rng.choice((size, size, max(1, size - 1), 0))
        podset = pods(count=size, minCount=least, cpu=0, gpu=8)
        jobs.append(job(f"w{k}", podset, priority=rng.choice((0, 0, 1))))
    rules = {"priority": rng.choice(("strict", "counts"))}
    return question(nodes, jobs, objectives=OBJECTIVES, rules=rules)
