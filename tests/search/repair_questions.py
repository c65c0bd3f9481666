"""Small clusters of shared GPUs that are nearly full, for tests of repairs with few moves."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from kantopt.problem.instance import Instance
from tests.questions import model, question

SIZES = (1000, 810, 650, 470, 320, 190)
Node = tuple[dict[str, Any], Sequence[dict[str, Any]]]
"""A node, and the jobs that run on it."""
GPUS = {"class": "gpu", "capacity": {"gpu": 1}}


def gpu_node(name: str, gpus: int, cpu: int) -> dict[str, Any]:
    """A node with some GPUs that can be shared."""
    return {
        "name": name,
        "allocatable": {"cpu": cpu},
        "devices": [{**GPUS, "count": gpus}],
    }


def gpu_job(
    name: str,
    milli: int,
    cpu: int,
    place: tuple[str, tuple[int, ...]] | None = None,
    count: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """A job of one pod that asks for a share of some GPUs; on a node's devices if it runs."""
    asked = {"class": "gpu", "count": count, "requests": {"gpu": f"{milli}m"}}
    podset: dict[str, Any] = {"requests": {"cpu": cpu}, "devices": [asked], "count": 1}
    if not milli:
        del podset["devices"]
    if place is not None:
        node, devices = place
        podset["assignments"] = [{"node": node, "count": 1, "devices": list(devices)}]
        if not milli:
            del podset["assignments"][0]["devices"]
    return {"name": name, "podSets": [podset], **more}


def few_moves(moves: int, *objectives: Any) -> Any:
    """Place GPUs, then move little; nobody is evicted."""
    asked = objectives or ({"unplaced": {"unit": "gpu"}}, "moves")
    return model(*asked, limits={"evictions": 0, "moves": moves})


def full_cluster(
    seed: int,
    nodes: int,
    gpus: int,
    running: int,
    pending: int,
    moves: int,
    said: Callable[[random.Random], dict[str, Any]] = lambda _: {},
    more: Sequence[Node] = (),
    pool: str = "",
) -> Instance:
    """Pods of random sizes that run wherever they fit, and pods that wait; two nodes are a rack.

    ``said`` draws what is said of a pod set besides; ``more`` are other nodes. The pods ask for a
    ``pool``, if there is one, which their nodes are.
    """
    rng = random.Random(seed)
    cpu = {f"n{n}": rng.randint(4, 12) for n in range(nodes)}
    left = [(n, d) for n in cpu for d in range(gpus)]
    free = dict.fromkeys(left, 1000)
    rooms = dict(cpu)
    placed, waiting = [], []
    for i in range(running):
        whole = rng.random() < 0.2
        milli, asked = (1000 if whole else rng.choice(SIZES)), rng.randint(0, 4)
        count = 2 if whole and gpus > 1 and rng.random() < 0.5 else 1
        if rng.random() < 0.15:
            milli = 0
        fitting = [
            (n, tuple(d for d in range(gpus) if free[n, d] >= milli)[:count])
            for n in cpu
            if rooms[n] >= asked
        ]
        fitting = [(n, devices) for n, devices in fitting if len(devices) == count]
        if not fitting:
            continue
        n, devices = rng.choice(fitting)
        rooms[n] -= asked
        for d in devices if milli else ():
            free[n, d] -= milli
        placed.append(gpu_job(f"r{i}", milli, asked, (n, devices), count))
    for i in range(pending):
        waiting.append(gpu_job(f"p{i}", rng.choice(SIZES[:5]), rng.randint(0, 4)))
    machines = [
        {**gpu_node(n, gpus, cpu[n]), "labels": {"rack": f"r{i // 2}"}} for i, n in enumerate(cpu)
    ]
    saying = random.Random(seed)
    for each in (*placed, *waiting):
        each["podSets"][0].update(said(saying))
    _in_pool(pool, machines, [*placed, *waiting])
    machines += [node for node, _ in more]
    placed += [job for _, jobs in more for job in jobs]
    return question(machines, placed, waiting).instance(few_moves(moves))


def roomy(pool: str) -> Sequence[Node]:
    """A node of a pool with room for more of each pod that runs there: one of each size."""
    sizes = [(milli, cpu) for milli in SIZES for cpu in range(5)]
    node = gpu_node("roomy", 2 * len(sizes), 1000)
    jobs = [gpu_job(f"b{d}", *size, ("roomy", (d,))) for d, size in enumerate(sizes)]
    _in_pool(pool, [node], jobs)
    return [(node, jobs)]


def _in_pool(pool: str, nodes: Sequence[dict[str, Any]], jobs: Sequence[dict[str, Any]]) -> None:
    if pool:
        for node in nodes:
            node["labels"] = {**node.get("labels", {}), "pool": pool}
        for job in jobs:
            job["podSets"][0]["nodeSelector"] = {"pool": pool}
