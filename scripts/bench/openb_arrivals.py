"""Pods of the openb trace in the order in which they come."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kantopt.errors import BadDataError, MissingInputError, Problem, said_of
from kantopt.formats.traces.openb import MODEL_LABEL
from kantopt.planning.convert import convert
from kantopt.schema.base import Expression
from kantopt.schema.jobs import Job, NodeSelectorTerm, PodSet
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot, Node
from scripts.bench.openb import NODES

NAMED = "named-third"
"""The default list in which a third of the pods with GPUs name a model, drawn anew by each seed."""
TRACES = ("default", "gpushare40", NAMED)
LOADS_PERCENT = (95, 100, 130)
PUBLISHED_SEED = 42


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The empty cluster and the pods in the order in which they come."""

    trace: str
    seed: int
    snapshot: ClusterSnapshot
    jobs: tuple[Job, ...]


def arrivals(folder: Path, seed: int, trace: str = TRACES[0]) -> Arrivals:
    """Read the trace: every pod once, shuffled, then random ones again up to 130 % of the GPUs.

    Of seed 42 of the default trace the order is that of the published run, from the placement
    beside the trace.

    Raises
    ------
    MissingInputError, BadDataError
        If the files are missing or others.
    """
    listed_as = TRACES[0] if trace == NAMED else trace
    read = convert("openb", [str(folder / NODES), str(folder / f"openb_pod_list_{listed_as}.csv")])
    jobs = {job.name: job for job in read.pending.jobs}
    if trace == NAMED:
        jobs = {job.name: job for job in name_models(read.pending.jobs, read.snapshot.nodes, seed)}
    if seed == PUBLISHED_SEED and trace == TRACES[0]:
        names = list(_published_order(folder))
    else:
        gpus = sum(group.count for node in read.snapshot.nodes for group in node.devices)
        names = _order(read.pending.jobs, 1000 * gpus, seed)
    try:
        listed = [jobs[name.partition("-tuned-")[0]] for name in names]
    except KeyError as error:
        raise BadDataError([Problem(str(folder), "", str(error), "a pod of the list")]) from None
    renamed = zip(names, listed, strict=True)
    coming = tuple(job.model_copy(update={"name": name}) for name, job in renamed)
    return Arrivals(trace, seed, read.snapshot, coming)


def _published_order(folder: Path) -> Iterator[str]:
    path = folder / "fgd_default_t1.3_s42_placement.csv"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MissingInputError(f"{path}: {said_of(error)}") from None
    return (row["pod"] for row in csv.DictReader(text.splitlines()))


def _order(jobs: Sequence[Job], total: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    names = [job.name for job in jobs]
    gpus = {job.name: _gpu_milli(job) for job in jobs}
    rng.shuffle(names)
    arrived = sum(gpus.values())
    clones = 0
    while 100 * arrived < LOADS_PERCENT[-1] * total:
        again = rng.choice(jobs).name
        names.append(f"{again}-tuned-{clones}")
        arrived += gpus[again]
        clones += 1
    return names


def name_models(jobs: Sequence[Job], nodes: Sequence[Node], seed: int) -> list[Job]:
    """Have a third of the pods with GPUs name a model, as the node list's own pods can.

    A model is drawn by its share of the GPUs on nodes that would hold the pod if they were empty,
    so that no model is asked for beyond what there is of it.
    """
    rng = random.Random(f"{NAMED} {seed}")
    alike: dict[str, list[Node]] = {}
    for node in nodes:
        alike.setdefault(f"{node.labels} {node.allocatable} {node.devices}", []).append(node)
    named = []
    for job in jobs:
        if _gpu_milli(job) and rng.random() < 1 / 3:
            gpus: Counter[str] = Counter()
            for first, *others in alike.values():
                if _holds(first, job.pod_sets[0]):
                    of_each = sum(group.count for group in first.devices)
                    gpus[first.labels[MODEL_LABEL]] += of_each * (1 + len(others))
            models = sorted(gpus)
            (model,) = rng.choices(models, [gpus[model] for model in models])
            wanted = Expression(key=MODEL_LABEL, operator="In", values=(model,))
            terms = (NodeSelectorTerm(match_expressions=(wanted,)),)
            podset = job.pod_sets[0].model_copy(update={"node_affinity": terms})
            job = job.model_copy(update={"pod_sets": (podset,)})
        named.append(job)
    return named


def _holds(node: Node, podset: PodSet) -> bool:
    amounts = (to_base(r, node.allocatable[r]) >= to_base(r, a) for r, a in podset.requests.items())
    needed = sum(need.count for need in podset.devices)
    return all(amounts) and sum(group.count for group in node.devices) >= needed


def _gpu_milli(job: Job) -> int:
    needs = job.pod_sets[0].devices
    return sum(need.count * to_base("gpu", need.requests["gpu"]) for need in needs)
