"""Tiny questions of GPUs, NUMA zones and network cards, and of nodes in use."""

from __future__ import annotations

import random
from typing import Any

from kantopt.problem.instance import Instance
from tests.verify.world import Document, Where, job, node, pods, question

KINDS = (("numa",), ("gpu",), ("nic",), ("gpu", "numa"), ("gpu", "nic"))
GOALS: tuple[Any, ...] = (
    "nodes_in_use",
    {"nodes_in_use": {"class": "cpu"}},
    {"nodes_in_use": {"class": "cpu", "target": 1}},
    {"domains_in_use": {"level": "rack", "class": "cpu"}},
)
FIRST: tuple[list[Any], ...] = ([], [{"unplaced": {"unit": "pod"}}], ["moves"], ["evictions"])
LAST: tuple[list[Any], ...] = (["moves", "evictions"], ["disruption_cost"], ["unplaced", "moves"])
NOBODY: Document = {"evictions": 0}
LIMITS: tuple[Document, ...] = ({}, {}, NOBODY, {"moves": 1}, {**NOBODY, "moves": 2})


def device_question(seed: int) -> Instance:
    """Pods with devices, parts of devices or none, some of them running; the same for a seed.

    Nodes or domains in use are counted first or second of all.
    """
    rng = random.Random(f"devices {seed}")
    kinds = rng.choice(KINDS)
    nodes = [_node(rng, f"n{n}", kinds) for n in range(rng.choice((2, 3, 3)))]
    jobs = []
    for j in range(rng.choice((2, 3, 3, 4))):
        needs = [_need(rng, kind) for kind in kinds if rng.random() < 0.7]
        count = rng.choice((1, 1, 2)) if len(needs) < 2 else 1
        runs = rng.random() < 0.75
        drawn = [_place(rng, rng.choice(nodes), needs) for _ in range(count * runs)]
        on = [place for place in drawn if place is not None]
        more: Document = {"priority": rng.choice((0, 0, 1, 5))}
        more["moveMode"] = rng.choice(("live", "restart"))
        for field, value, share in (("movable", False, 0.2), ("preemptible", False, 0.3)):
            if rng.random() < share:
                more[field] = value
        if on and rng.random() < 0.15:
            more["daemon"] = True
        podset = pods(count=count, cpu=rng.choice((0, 1, 1, 2)), devices=needs, on=on)
        if rng.random() < 0.4:
            podset["minCount"] = 0
        jobs.append(job(f"j{j}", podset, **more))
    first = rng.choice(FIRST)
    last = [each for each in rng.choice(LAST) if each not in first]
    return question(
        nodes,
        jobs,
        objectives=[*first, rng.choice(GOALS), *last],
        limits=rng.choice(LIMITS),
        rules={"priority": rng.choice(("strict", "counts"))},
    )


def _node(rng: random.Random, name: str, kinds: tuple[str, ...]) -> Document:
    capacities: dict[str, tuple[int, Document]] = {
        "gpu": (rng.choice((1, 2)), {"gpu": 1}),
        "numa": (2, {"cpu": rng.choice((2, 3, 3))}),
        "nic": (1, {"vf": rng.choice((1, 2))}),
    }
    devices = [
        {"class": kind, "count": capacities[kind][0], "capacity": capacities[kind][1]}
        for kind in kinds
    ]
    state: Document = rng.choice(({}, {}, {}, {}, {}, {"unschedulable": True}, {"ready": False}))
    rack = rng.choice(("x/1", "x/2"))
    return node(name, cpu=rng.choice((3, 4, 6)), devices=devices, rack=rack, **state)


def _need(rng: random.Random, kind: str) -> Document:
    count, requests = {
        "gpu": (rng.choice((1, 1, 2)), {"gpu": rng.choice(("500m", "300m", "600m", 1, 1))}),
        "numa": (rng.choice((1, 1, 2)), {"cpu": rng.choice((1, 1, 2))}),
        "nic": (1, {"vf": 1}),
    }[kind]
    return {"class": kind, "count": count, "requests": requests}


def _place(rng: random.Random, on: Document, needs: list[Document]) -> Where | None:
    """A node with some of its devices, full or not; ``None`` if it has too few."""
    chosen: list[int] = []
    for need in needs:
        first = 0
        for devices in on["devices"]:
            if devices["class"] == need["class"]:
                if devices["count"] < need["count"]:
                    return None
                chosen += rng.sample(range(first, first + devices["count"]), need["count"])
            first += devices["count"]
    return (on["name"], *sorted(chosen)) if chosen else str(on["name"])  # type: ignore[return-value]
