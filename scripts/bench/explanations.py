"""Explanations on large clusters: how long an answer takes, and whether it is a complete one."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kantopt.clock import elapsed
from kantopt.report.blocks import Block, Paragraph, Table
from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import Queue, QueueResource
from scripts.bench.case import Documents
from scripts.bench.gang_cluster import GPU
from scripts.bench.gangs import kant
from scripts.bench.process import environment

SUITE = "explanations"
NODES = (1250,)
LIMIT_SECONDS = 5.0
USAGE = 0.95
_QUEUE = "team"
_QUOTA = 64
"""GPUs: the queue of the job that is over quota has no more."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One job and the answer about it.

    Attributes
    ----------
    proved
        The verdict with all it says, so also that its plan disturbs as little as any.
    complete
        Nothing was left out for lack of time.
    minimal
        The conflict is proved to be one of which no line can go; ``None`` without a conflict.
    seconds
        From the start of the process to its end.
    """

    nodes: int
    seed: int
    kind: str
    verdict: str
    proved: bool
    complete: bool
    minimal: bool | None
    remedies: int
    seconds: float

    @property
    def whole(self) -> bool:
        """Whether nothing is missing: whoever has to go is named, but fewer may be enough."""
        return self.complete and self.minimal is not False


def asked(nodes: int, seed: int) -> tuple[Documents, dict[str, str]]:
    """Make a cluster of gangs that is nearly full, and jobs to ask about by kind of question."""
    made = kant(nodes, USAGE, seed, None)
    gangs: dict[str, Job] = {
        "leaf": _gang("leaf", 24, 100, required="leaf"),
        "block": _gang("block", 128, 100, required="block"),
        "anywhere": _gang("anywhere", max(4, nodes // 8), 10),
        "important": _gang("important", 64, 1000, required="block"),
        "over-quota": _gang("over-quota", 12, 1000).model_copy(update={"queue_name": _QUEUE}),
        "too-large": _gang("too-large", 2, 100, gpus=16),
        "too-many": _gang("too-many", 40, 1000, required="leaf"),
        "selector": _gang("selector", 4, 100, selector={"accelerator": "other"}),
        "one-node": _gang("one-node", 1, 10),
        "one-gpu": _gang("one-gpu", 1, 100, gpus=1),
    }
    named = {kind: job.full_name for kind, job in gangs.items()}
    running = made.snapshot.jobs
    whole = next(job for job in running if job.pod_sets[0].count > 1 and GPU in _asks(job))
    single = next(job for job in running if job.pod_sets[0].count == 1 and _asks(job)[GPU])
    named["running-gang"] = whole.full_name
    named["running-pod"] = single.full_name
    quota = QueueResource(name=GPU, nominal_quota=_QUOTA)
    queues = (Queue(name=_QUEUE, resources=(quota,)),)
    snapshot = made.snapshot.model_copy(update={"queues": queues})
    return Documents(snapshot, (*made.pending, *gangs.values())), named


def _asks(job: Job) -> dict[str, int]:
    return {name: int(amount) for name, amount in job.pod_sets[0].requests.items()}


def _gang(
    name: str,
    pods: int,
    priority: int,
    *,
    gpus: int = 8,
    required: str | None = None,
    selector: dict[str, str] | None = None,
) -> Job:
    podset = PodSet(count=pods, requests={"cpu": 8 * gpus, GPU: gpus}, node_selector=selector or {})
    request = None if required is None else TopologyRequest(required=required)
    return Job(name=f"ask-{name}", priority=priority, topology_request=request, pod_sets=(podset,))


def run_all(
    nodes: Sequence[int], seeds: int, limit_seconds: float, tell: Callable[[Explained], None]
) -> None:
    """Ask about each kind of job on clusters of each size, every answer a process of its own."""
    for size in nodes:
        for seed in range(seeds):
            documents, named = asked(size, seed)
            with tempfile.TemporaryDirectory(prefix="kantopt-bench-") as folder:
                files = documents.write(Path(folder))
                for kind, name in named.items():
                    tell(_explained(files, size, seed, kind, name, limit_seconds))


def _explained(
    files: Sequence[Path], nodes: int, seed: int, kind: str, name: str, limit_seconds: float
) -> Explained:
    command = [sys.executable, "-m", "kantopt", "explain", *map(str, files), "--job", name]
    command += ["-o", "json", "--time-limit", f"{limit_seconds:g}s", "--quiet"]
    began = elapsed()
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    seconds = elapsed() - began
    told = json.loads(done.stdout)
    conflict = told.get("conflict")
    return Explained(
        nodes=nodes,
        seed=seed,
        kind=kind,
        verdict=told["verdict"]["status"],
        proved=told["verdict"]["proved"],
        complete=told["complete"],
        minimal=None if conflict is None else conflict["minimalRules"] and conflict["minimalItems"],
        remedies=len(told.get("remedies", ())),
        seconds=seconds,
    )


COLUMNS = (
    *("nodes", "seed", "kind", "verdict", "proved", "complete", "minimal"),
    *("remedies", "seconds"),
)


def explained_blocks(rows: Sequence[Explained]) -> list[Block]:
    """Lay the answers out, and how many of them leave nothing open."""
    if not rows:
        return [Paragraph("No job was asked about.")]
    cells = tuple(
        (
            str(row.nodes),
            str(row.seed),
            row.kind,
            row.verdict,
            _word(row.proved),
            _word(row.complete),
            _word(row.minimal),
            str(row.remedies),
            f"{row.seconds:.2f}",
        )
        for row in rows
    )
    titles = tuple(name.upper() for name in COLUMNS)
    whole = sum(row.whole for row in rows)
    times = sorted(row.seconds for row in rows)
    text = (
        f"{whole} of {len(rows)} answers are whole; "
        f"seconds: median {times[len(times) // 2]:.2f}, longest {times[-1]:.2f}."
    )
    return [Table("EXPLANATIONS", titles, cells, frozenset({0, 1, 7, 8})), Paragraph(text)]


def _word(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "no"
