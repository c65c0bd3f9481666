"""How long ``kantopt capacity`` takes on a large cluster, and what it proves there.

Nodes of eight GPUs in racks of sixteen, a given share of the GPUs in use by pods of 1, 2, 4 and 8
GPUs, four fifths of which may be moved. Seconds are those of the whole program, and those that it
had of processors: beside other work the first say little.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GPUS, RACK = 8, 16
JOBS = (
    ("one pod of 8 GPUs", ("--gpus", "8", "--cpu", "64")),
    ("one pod of 1 GPU", ("--gpus", "1", "--cpu", "8")),
    ("4 pods of 8 GPUs in a rack", ("--gpus", "8", "--pods", "4", "--required", "rack")),
)


def cluster(nodes: int, used: float, seed: int) -> dict[str, Any]:
    """Make up a cluster."""
    rng = random.Random(seed)
    machines = [
        {
            "name": f"n{i:05}",
            "labels": {"block": f"b{i // RACK // 8}", "rack": f"r{i // RACK}"},
            "allocatable": {"cpu": 96, "memory": "960Gi", "nvidia.com/gpu": GPUS, "pods": 110},
        }
        for i in range(nodes)
    ]
    free, left = [GPUS] * nodes, int(GPUS * nodes * used)
    jobs = []
    while left > 0:
        size = rng.choice((1, 1, 2, 4, 8))
        where = next((n for n in rng.sample(range(nodes), 6) if free[n] >= size), None)
        if where is None:
            left -= 1
            continue
        free[where] -= size
        left -= size
        requests = {"cpu": size * 8, "memory": f"{size * 64}Gi", "nvidia.com/gpu": size}
        assignments = [{"node": machines[where]["name"]}]
        podset = {"count": 1, "requests": requests, "assignments": assignments}
        name = f"job-{len(jobs):05}"
        jobs.append({"name": name, "movable": rng.random() < 0.8, "podSets": [podset]})
    levels = [{"name": level, "nodeLabel": level} for level in ("block", "rack")]
    return {
        "apiVersion": "kantopt/v1alpha1",
        "kind": "ClusterSnapshot",
        "metadata": {"name": f"{nodes}-nodes"},
        "topology": {"levels": levels},
        "nodes": machines,
        "jobs": jobs,
    }


def main() -> None:
    """Print a line per job and answer."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=2000)
    arguments.add_argument("--used", type=float, default=0.8)
    arguments.add_argument("--max-moves", type=int, default=20)
    arguments.add_argument("--time-limit", default="30s")
    arguments.add_argument("--seed", type=int, default=0)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps(cluster(asked.nodes, asked.used, asked.seed)), encoding="utf-8")
        for words, job in JOBS:
            command = (sys.executable, "-m", "kantopt", "capacity", str(path), *job)
            limits = ("--max-moves", str(asked.max_moves), "--time-limit", asked.time_limit)
            began, used = time.monotonic(), sum(os.times()[2:4])
            done = subprocess.run(
                (*command, *limits, "-o", "name", "-q"), capture_output=True, text=True
            )
            seconds, busy = time.monotonic() - began, sum(os.times()[2:4]) - used
            print(f"{words}: {seconds:.1f} s, {busy:.1f} s of processors", flush=True)
            print("".join(f"  {line}\n" for line in (done.stdout or done.stderr).splitlines()))


if __name__ == "__main__":
    main()
