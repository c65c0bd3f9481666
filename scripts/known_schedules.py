#!/usr/bin/env python3
"""Start times of EASY and conservative backfill that are known, beside those of a simulation.

    python scripts/known_schedules.py batsim FOLDER/easy FOLDER/conservative
    python scripts/known_schedules.py log UniLu-Gaia-2014-2.swf --jobs 500 --windows 20

``batsim``: what Batsim wrote of a run, ``out_jobs.csv`` and ``out_schedule.csv`` in a folder named
as the scheduler. A job is a gang on as many hosts of one processor. The sources of evalys 4.0.7
hold two (``pip download --no-deps --no-binary :all: evalys==4.0.7``, in
``examples/batsim_outputs/medium_late``).

``log``: a log in the Standard Workload Format, by parts of so many jobs, each on the empty machine,
beside the brute-force reference of the tests (processors are counted). Where a job ran for longer
than it asked for, what it asked for is raised: the definitions are of estimates that hold.

Prints a line for each, and exits with 1 if a job starts at another time.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kantopt.formats.traces.swf import read_swf
from kantopt.schema.base import API_VERSION
from kantopt.schema.duration import duration_seconds
from kantopt.schema.extends import load_model
from kantopt.schema.files import read_text
from kantopt.schema.policy import Policy
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.trace import Trace
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.world import build_world
from tests.simulate.backfill_reference import Asked, Kind, start_times

Document = dict[str, Any]

GPU = "nvidia.com/gpu"
TICKS = 50_000
"""Of a second of Batsim's, which has millionths: as many as a trace has seconds for."""
KINDS: tuple[Kind, ...] = ("easy", "conservative")
DEEP = 100_000
"""Conservative backfill of the definition: everybody who waits has a reservation."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Start times of the same jobs, known and simulated, seconds."""

    name: str
    kind: str
    arrivals: list[float]
    known: list[float]
    ours: list[float]

    @property
    def others(self) -> int:
        """Jobs that start at another time, by more than the resolution."""
        return sum(abs(a - b) > 2 / TICKS for a, b in zip(self.known, self.ours, strict=True))

    def line(self) -> str:
        """Return what is printed."""
        count = len(self.known)
        waits = [
            sum(s - a for s, a in zip(starts, self.arrivals, strict=True)) / count
            for starts in (self.known, self.ours)
        ]
        return (
            f"{self.name:36} {self.kind:12} {count:>6} jobs, {self.others:>4} start at another"
            f" time; mean waiting {waits[0]:.6f} s, ours {waits[1]:.6f} s"
        )


def simulated(nodes: list[Document], jobs: list[Document], kind: Kind) -> dict[str, float]:
    """Return when each job starts, seconds."""
    head: Document = {"apiVersion": API_VERSION, "metadata": {"name": "known"}}
    queueing = {"backfill": kind, "depth": DEEP}
    how = Policy.model_validate_json(json.dumps({**head, "kind": "Policy", "queueing": queueing}))
    cluster = {**head, "kind": "ClusterSnapshot", "nodes": nodes}
    snapshot = ClusterSnapshot.model_validate_json(json.dumps(cluster))
    trace = Trace.model_validate_json(json.dumps({**head, "kind": "Trace", "jobs": jobs}))
    world = build_world(snapshot, (), trace, load_model("training"), name="known")
    return {
        record.name.removeprefix("default/"): record.started / 1000
        for record in Simulator(world, how).run().jobs
        if record.started is not None
    }


def batsim(folder: Path) -> Beside:
    """Simulate the jobs of a run of Batsim's by the scheduler that its folder is named after."""
    kind = next((kind for kind in KINDS if kind == folder.name), None)
    if kind is None:
        raise SystemExit(f"{folder}: expected a folder named {' or '.join(KINDS)}")
    with open(folder / "out_schedule.csv", encoding="utf-8") as file:
        hosts = int(next(csv.DictReader(file))["nb_computing_machines"])
    with open(folder / "out_jobs.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows.sort(key=lambda row: (float(row["submission_time"]), int(row["job_id"])))
    nodes = [{"name": f"host-{i:04}", "allocatable": {GPU: 1}} for i in range(hosts)]
    jobs = [
        {
            "name": f"job-{i}",
            "podSets": [_pods(int(row["requested_number_of_resources"]))],
            "arrival": _ticks(row["submission_time"]),
            "duration": _ticks(row["execution_time"]),
            "estimate": _ticks(row["requested_time"]),
        }
        for i, row in enumerate(rows)
    ]
    starts = simulated(nodes, jobs, kind)
    return Beside(
        "/".join(folder.parts[-2:]),
        kind,
        [float(row["submission_time"]) for row in rows],
        [float(row["starting_time"]) for row in rows],
        [starts[f"job-{i}"] / TICKS for i in range(len(rows))],
    )


def _pods(count: int, processors: int = 1) -> Document:
    return {"count": count, "minCount": count, "requests": {GPU: processors}}


def _ticks(seconds: str) -> str:
    return f"{round(float(seconds) * TICKS)}s"


def asked_of(log: Path) -> tuple[int, list[Asked]]:
    """Return the processors of a log, and its jobs that ran."""
    snapshot, trace = read_swf(
        read_text(str(log)).decode(), file=str(log), name=log.name, processor=GPU
    )
    if snapshot is None:
        raise SystemExit(f"{log}: no MaxProcs or MaxNodes: how large is the machine?")
    size = int(snapshot.nodes[0].allocatable[GPU])
    jobs = []
    for job in trace.jobs:
        duration = duration_seconds(job.duration)
        estimate = duration_seconds(job.estimate or job.duration)
        processors = int(job.pod_sets[0].requests[GPU])
        if 0 < processors <= size:
            lasts = max(duration, estimate)
            jobs.append(Asked(duration_seconds(job.arrival), duration, lasts, processors))
    return size, jobs


def log_beside(name: str, size: int, jobs: list[Asked], kind: Kind, faster: int) -> Beside:
    """Simulate jobs of a log on counted processors, beside the reference."""
    first = jobs[0].arrival
    jobs = [replace(job, arrival=(job.arrival - first) // faster) for job in jobs]
    known = start_times(size, jobs, kind)
    documents: list[Document] = [
        {
            "name": f"job-{i}",
            "podSets": [_pods(1, job.processors)],
            "arrival": f"{job.arrival}s",
            "duration": f"{job.duration}s",
            "estimate": f"{job.estimate}s",
        }
        for i, job in enumerate(jobs)
    ]
    starts = simulated([{"name": "machine", "allocatable": {GPU: size}}], documents, kind)
    ours = [starts[f"job-{i}"] for i in range(len(jobs))]
    return Beside(name, kind, [float(job.arrival) for job in jobs], [*map(float, known)], ours)


def found(asked: argparse.Namespace) -> Iterator[Beside]:
    """Simulate what is asked for, one after the other."""
    if asked.source == "batsim":
        yield from map(batsim, asked.folder)
        return
    size, jobs = asked_of(asked.file)
    for begin in range(0, min(len(jobs), asked.jobs * asked.windows), asked.jobs):
        part = jobs[begin : begin + asked.jobs]
        for kind in KINDS:
            yield log_beside(f"{asked.file.name}, from job {begin}", size, part, kind, asked.faster)


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each schedule; return 1 if a job starts at another time than is known."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sources = parser.add_subparsers(dest="source", required=True)
    runs = sources.add_parser("batsim", help="what Batsim wrote of its runs")
    runs.add_argument("folder", type=Path, nargs="+", help=f"called {' or '.join(KINDS)}")
    log = sources.add_parser("log", help="a log in the Standard Workload Format")
    log.add_argument("file", type=Path)
    log.add_argument("--faster", type=int, default=1, help="so many times as fast jobs come")
    log.add_argument("--jobs", type=int, default=500, help="of a part")
    log.add_argument("--windows", type=int, default=10, help="parts, one after the other")
    others = 0
    for beside in found(parser.parse_args(words)):
        print(beside.line(), flush=True)
        others += beside.others
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
