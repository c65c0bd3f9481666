"""Arrivals of the openb trace, planned in windows on a cluster that fills up; nothing is moved.

A window of one pod is what an online scheduler does. Larger windows choose the order among their
pods.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from statistics import mean

from kantopt.bench.openb import NODES
from kantopt.clock import elapsed
from kantopt.errors import BadDataError, MissingInputError, Problem
from kantopt.planning.convert import convert
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job as ProblemJob
from kantopt.problem.mix import Shape, commonest_shapes
from kantopt.report.blocks import Table
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model, Objective, UnplacedObjective
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.search.gangs import Placer
from kantopt.search.scores import Scores
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check

SUITE = "openb-online"
RUNS: Mapping[Strategy, tuple[int, ...]] = {
    Strategy.LOOKAHEAD: (1, 50, 200),
    Strategy.FGD: (1,),
    Strategy.BEST_FIT: (1,),
    Strategy.MOST_ALLOCATED: (1,),
}
"""Strategies and their windows; those compared with are published one by one only."""
LOADS_PERCENT = (95, 100, 130)
PUBLISHED_SEED = 42

_MODEL = Model(
    api_version=API_VERSION,
    kind="Model",
    objectives=(Objective(unplaced=UnplacedObjective(by="all", unit="gpu")),),
)

TRACES = ("default", "gpushare40")
PUBLISHED: Mapping[tuple[str, str, int], float] = {
    ("default", "fgd", 100): 95.23,
    ("default", "fgd", 130): 95.39,
    ("default", "best-fit", 100): 92.86,
    ("default", "best-fit", 130): 93.08,
    ("default", "most-allocated", 100): 91.78,
    ("default", "most-allocated", 130): 92.00,
    ("gpushare40", "fgd", 100): 93.96,
    ("gpushare40", "fgd", 130): 94.15,
    ("gpushare40", "best-fit", 100): 91.44,
    ("gpushare40", "best-fit", 130): 91.69,
    ("gpushare40", "most-allocated", 100): 89.77,
    ("gpushare40", "most-allocated", 130): 90.03,
}
"""GPUs allocated in percent, means of 10 seeds by trace (FGD, ATC'23): FGD, BestFit and Packing."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The empty cluster and the pods in the order in which they come."""

    trace: str
    seed: int
    snapshot: ClusterSnapshot
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Online:
    """GPUs allocated when some load has arrived, in percent, and times per window."""

    trace: str
    strategy: str
    window: int
    seed: int
    allocated: Mapping[int, float]
    worst_seconds: float
    mean_seconds: float


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


def simulate(coming: Arrivals, strategy: Strategy, window: int) -> Online:
    """Place the arrivals window by window, in a window of several the largest first.

    What the strategies know of pods to come is the mix of shapes of all arrivals, as in the
    published runs. Counted at a load are the pods that had arrived by then: what has been placed
    stays where it is.

    Raises
    ------
    AssertionError
        If the placement that comes of it breaks a rule.
    """
    whole = build_instance(coming.snapshot, coming.jobs, _MODEL)
    whole = replace(whole, mix=_typical(whole))
    total = sum(node.gpu_milli for node in whole.nodes)
    state = State(whole)
    placer = Placer(Scores(state, strategy))
    times: list[float] = []
    for first in range(0, len(whole.jobs), window):
        began = elapsed()
        jobs = whole.jobs[first : first + window]
        for job in sorted(jobs, key=lambda job: _size(whole, job), reverse=True):
            placer.place(job.index)
        times.append(elapsed() - began)
    found = state.placement()
    if check(whole, found):  # a pod that has come stays: legal at the end is legal throughout
        raise AssertionError(f"{strategy}: arrivals were placed against the rules")
    by_then = list(accumulate(p.gpu_milli * found.placed(p.index) for p in whole.podsets))
    arrived = list(accumulate(podset.gpu_milli for podset in whole.podsets))
    allocated = {}
    for load in LOADS_PERCENT:
        position = sum(100 * gpus < load * total for gpus in arrived)
        allocated[load] = 100 * by_then[min(position, len(by_then) - 1)] / total
    return Online(
        coming.trace, strategy.value, window, coming.seed, allocated, max(times), mean(times)
    )


def _typical(whole: Instance) -> tuple[Shape, ...]:
    """Return what FGD takes for typical in the published runs; their shapes know no memory."""
    podsets = (
        replace(
            podset,
            requests=tuple(
                0 if name == "memory" else amount
                for name, amount in zip(whole.resources, podset.requests, strict=True)
            ),
        )
        for podset in whole.podsets
    )
    return commonest_shapes(podsets, share=95, step=1, only_gpus=False)


def _size(whole: Instance, job: ProblemJob) -> tuple[int, ...]:
    podset = whole.podsets[job.podsets[0]]
    return podset.gpu_milli, *podset.demand


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
    """Lay out the means over the seeds, beside those published."""
    groups: dict[tuple[str, str, int], list[Online]] = {}
    for run in runs:
        groups.setdefault((run.trace, run.strategy, run.window), []).append(run)
    lines = []
    for (trace, strategy, window), alike in groups.items():
        cells = [trace, strategy, str(window), str(len(alike))]
        for load in LOADS_PERCENT:
            figures = [run.allocated[load] for run in alike]
            cells += [f"{mean(figures):.2f}", f"{min(figures):.2f}"]
            if load != LOADS_PERCENT[0]:
                published = PUBLISHED.get((trace, strategy, load))
                cells.append("-" if published is None else f"{published:.2f}")
        cells.append(f"{max(run.worst_seconds for run in alike):.3f}")
        cells.append(f"{mean(run.mean_seconds for run in alike):.3f}")
        lines.append(tuple(cells))
    columns: tuple[str, ...] = ("TRACE", "STRATEGY", "WINDOW", "SEEDS", "AT 95 %", "WORST")
    for load in LOADS_PERCENT[1:]:
        columns = (*columns, f"{load} %", "WORST", "PUBLISHED")
    title = (
        "GPUs allocated in percent when pods for 95, 100 and 130 % of the GPUs have arrived: mean "
        "and worst of the seeds, and published means of 10 seeds of each strategy one by one; "
        "seconds per window"
    )
    columns = (*columns, "SLOWEST", "MEAN")
    return Table(title, columns, tuple(lines), frozenset(range(2, 14)))
