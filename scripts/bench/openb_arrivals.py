"""Pods of the openb trace in the order in which they come."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kantopt.errors import BadDataError, MissingInputError, Problem
from kantopt.planning.convert import convert
from kantopt.schema.jobs import Job
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot
from scripts.bench.openb import NODES

TRACES = ("default", "gpushare40")
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
    read = convert("openb", [str(folder / NODES), str(folder / f"openb_pod_list_{trace}.csv")])
    jobs = {job.name: job for job in read.pending.jobs}
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
        raise MissingInputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
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


def _gpu_milli(job: Job) -> int:
    needs = job.pod_sets[0].devices
    return sum(need.count * to_base("gpu", need.requests["gpu"]) for need in needs)
