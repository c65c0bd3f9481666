"""Few jobs on many nodes: what has arrived since the last run, on a cluster that is in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.bench.case import Case, Documents
from scripts.bench.gang_cluster import GangCluster
from scripts.bench.gangs import documents, kant

SUITE = "arrivals"
WAITING = (1, 5, 20)
SIZES, SHARES = (1, 2, 4, 8, 32), (40, 20, 15, 15, 10)
"""GPUs of a job that has arrived, and how often in a hundred."""


def cases(
    nodes: Sequence[int], usage_percent: Sequence[int], seeds: Sequence[int], data: Path | None
) -> list[Case]:
    """List clusters of each size with 1, 5 and 20 jobs that wait."""
    found = []
    for seed in seeds:
        for usage in usage_percent:
            for size in nodes:
                for waiting in WAITING:
                    parameters = {"nodes": str(size), "usage": f"{usage / 100:.2f}"}
                    parameters["jobs"] = str(waiting)
                    name = f"n{size:05d}-u{usage:03d}-w{waiting:02d}"
                    make = _made(size, usage / 100, waiting, seed, data)
                    found.append(Case(SUITE, name, seed, parameters, make))
    return found


def _made(
    nodes: int, usage: float, waiting: int, seed: int, data: Path | None
) -> Callable[[], Documents]:
    return lambda: arrived(nodes, usage, waiting, seed, data)


def arrived(nodes: int, usage: float, waiting: int, seed: int, data: Path | None) -> Documents:
    """Make a cluster as those of ``gangs`` in which few jobs wait, most of them of one pod."""
    running = kant(nodes, usage, seed, data).snapshot
    draw = GangCluster((), [()], 8, seed)
    sizes = draw.rng.choices(SIZES, SHARES, k=waiting)
    jobs = tuple(draw.job(f"job-{i:02d}", gpus) for i, gpus in enumerate(sizes))
    name = f"arrivals-{nodes}-{waiting}-{seed}"
    metadata = running.metadata.model_copy(update={"name": name})
    return documents(running.model_copy(update={"metadata": metadata}), jobs)
