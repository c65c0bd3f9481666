"""Arrivals of the openb trace, planned in windows on a cluster that fills up; nothing is moved.

A window of one pod is what an online scheduler does. Larger windows choose the order among their
pods. What runs is taken off the nodes, so a window's question is no larger than its pods.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from kantopt.bench.openb import NODES, PODS
from kantopt.clock import Deadline, elapsed
from kantopt.errors import BadDataError, MissingInputError, Problem
from kantopt.planning.convert import convert
from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Device, Node
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.report.blocks import Table
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model, Objective, UnplacedObjective
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.search.construct import construct
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure

SUITE = "openb-online"
WINDOWS = (1, 50, 200)
LOADS_PERCENT = (95, 100, 130)
PUBLISHED_SEED = 42

_MODEL = Model(
    api_version=API_VERSION,
    kind="Model",
    objectives=(Objective(unplaced=UnplacedObjective(by="all", unit="gpu")),),
)
_NEVER = Deadline(None)

PUBLISHED: Mapping[tuple[str, int], float] = {
    ("fgd", 100): 95.23,
    ("fgd", 130): 95.39,
    ("best-fit", 100): 92.86,
    ("best-fit", 130): 93.08,
    ("most-allocated", 100): 91.78,
    ("most-allocated", 130): 92.00,
}
"""GPUs allocated in percent, means of 10 seeds on the default trace (FGD, ATC'23): FGD, BestFit and
Packing. Their load of 100 % is the whole pod list, 98 % of the GPUs."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The empty cluster and the pods in the order in which they come."""

    seed: int
    snapshot: ClusterSnapshot
    jobs: tuple[Job, ...]
    distinct: int
    """Pods of the list; those after them come for a second time."""


@dataclass(frozen=True, slots=True)
class Online:
    """GPUs allocated when some load has arrived, in percent, and times per window."""

    strategy: str
    window: int
    seed: int
    allocated: Mapping[int, float]
    worst_seconds: float
    mean_seconds: float


def arrivals(folder: Path, seed: int) -> Arrivals:
    """Read the trace: every pod once, shuffled, then random ones again up to 130 % of the GPUs.

    Of seed 42 the order is that of the published run, from the placement beside the trace.

    Raises
    ------
    MissingInputError, BadDataError
        If the files are missing or others.
    """
    read = convert("openb", [str(folder / NODES), str(folder / PODS)])
    jobs = {job.name: job for job in read.pending.jobs}
    if seed == PUBLISHED_SEED:
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
    return Arrivals(seed, read.snapshot, coming, len(jobs))


def simulate(coming: Arrivals, strategy: Strategy, window: int) -> Online:
    """Place the arrivals window by window; in a window of several in the better of two orders.

    These are as they come and the largest first; better is what places more GPUs, and as they come
    if both place as many: to strand less in one window is to have less choice in the next. The mix
    of shapes that fgd looks at is that of all arrivals, as in the published runs.
    A load counts as reached at the end of the window in which it is.
    """
    whole = build_instance(coming.snapshot, coming.jobs, _MODEL)
    tiers = tiers_of(whole)
    total = sum(node.gpu_milli for node in whole.nodes)
    marks = _marks(whole, coming.distinct, total)
    placed = 0
    times: list[float] = []
    allocated: dict[int, float] = {}
    nodes, end = whole.nodes, len(whole.jobs)
    # One by one in their order is the same question as a single window with its order kept.
    size = end if window == 1 else window
    for first in range(0, end, size):
        began = elapsed()
        part = _part(whole, nodes, first, min(first + size, end))
        found = construct(part, _NEVER, strategy, preempt=False, in_order=True)
        if window > 1:
            other = construct(part, _NEVER, strategy, preempt=False)
            found = min(found, other, key=lambda each: measure(part, each, tiers))
        nodes = _less(nodes, part, found)
        times.append((elapsed() - began) * window / size)
        for podset in part.podsets:
            placed += podset.gpu_milli * found.placed(podset.index)
            last = podset.index == len(part.podsets) - 1
            if window == 1 or last:
                for load, position in marks.items():
                    if first + podset.index >= position:
                        allocated.setdefault(load, 100 * placed / total)
    mean = sum(times) / len(times)
    return Online(strategy.value, window, coming.seed, allocated, max(times), mean)


def _marks(whole: Instance, distinct: int, total: int) -> dict[int, int]:
    """Position of the pod with which each load has arrived."""
    arrived = list(accumulate(podset.gpu_milli for podset in whole.podsets))
    early = next(i for i, gpus in enumerate(arrived) if 100 * gpus >= LOADS_PERCENT[0] * total)
    return dict(zip(LOADS_PERCENT, (early, distinct - 1, len(arrived) - 1), strict=True))


def _part(whole: Instance, nodes: tuple[Node, ...], first: int, end: int) -> Instance:
    """Ask for some of the pods only, on nodes as they are by now; every job has one pod set."""
    podsets = tuple(
        replace(podset, index=i, job=i) for i, podset in enumerate(whole.podsets[first:end])
    )
    jobs = tuple(
        replace(job, index=i, roles=(replace(job.roles[0], pending=i),))
        for i, job in enumerate(whole.jobs[first:end])
    )
    return replace(whole, nodes=nodes, jobs=jobs, podsets=podsets)


def _less(nodes: tuple[Node, ...], part: Instance, found: Placement) -> tuple[Node, ...]:
    """Take what has been placed off the nodes."""
    changed: dict[int, Node] = {}
    for s, spot, pods in found.items():
        podset = part.podsets[s]
        node = changed.get(spot.node, nodes[spot.node])
        devices = list(node.devices)
        for need in podset.devices:
            for d in spot.devices:
                left = _minus(devices[d].capacity, need.request, pods)
                devices[d] = Device(devices[d].device_class, tuple(each or 0 for each in left))
        capacity = _minus(node.capacity, podset.requests, pods)
        changed[spot.node] = replace(node, capacity=capacity, devices=tuple(devices))
    return tuple(changed.get(node.index, node) for node in nodes)


def _minus(
    capacity: Sequence[int | None], request: Sequence[int], pods: int
) -> tuple[int | None, ...]:
    return tuple(
        None if offered is None else offered - pods * asked
        for offered, asked in zip(capacity, request, strict=True)
    )


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


def online_table(runs: Sequence[Online]) -> Table:
    """Lay out the runs beside the published means."""
    lines = []
    for run in runs:
        cells = [run.strategy, str(run.window), str(run.seed)]
        for load in LOADS_PERCENT:
            published = PUBLISHED.get((run.strategy, load))
            cells.append(f"{run.allocated.get(load, 0.0):.2f}")
            if load != LOADS_PERCENT[0]:
                cells.append("-" if published is None else f"{published:.2f}")
        cells += [f"{run.worst_seconds:.3f}", f"{run.mean_seconds:.3f}"]
        lines.append(tuple(cells))
    columns: tuple[str, ...] = ("STRATEGY", "WINDOW", "SEED", "AT 95 %", "LIST", "PUBLISHED")
    title = (
        "GPUs allocated in percent of 6,212 when 95 % have arrived, the whole list (98 %) and "
        "130 %; published means of 10 seeds of each strategy one by one; seconds per window"
    )
    columns = (*columns, "130 %", "PUBLISHED", "WORST", "MEAN")
    return Table(title, columns, tuple(lines), frozenset(range(1, 10)))
