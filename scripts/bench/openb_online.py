"""Arrivals of the openb trace, planned in windows on a cluster that fills up; nothing is moved.

A window of one pod is what an online scheduler does. Larger windows choose the order among their
pods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import mean

from kantopt.clock import elapsed
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job as ProblemJob
from kantopt.problem.mix import Shape, commonest_shapes
from kantopt.schema.base import API_VERSION
from kantopt.schema.model import Model, Objective
from kantopt.schema.objectives import UnplacedObjective
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check
from scripts.bench.openb_arrivals import LOADS_PERCENT, Arrivals

_MODEL = Model(
    api_version=API_VERSION,
    kind="Model",
    objectives=(Objective(unplaced=UnplacedObjective(by="all", unit="gpu")),),
)


@dataclass(frozen=True, slots=True)
class Online:
    """GPUs that had arrived and that were allocated when a load was reached; time per window.

    ``arrived`` and ``allocated`` are by load, in percent of the GPUs of the cluster.
    """

    trace: str
    strategy: str
    window: int
    seed: int
    arrived: Mapping[int, float]
    allocated: Mapping[int, float]
    worst_seconds: float
    mean_seconds: float


def simulate(coming: Arrivals, strategy: Strategy, window: int) -> Online:
    """Place the arrivals window by window, in a window of several the largest first.

    A window ends early where a load is reached: the published runs end there, and none of their
    pods gave way to one that came later. What the strategies know of pods to come is the mix of
    shapes of all arrivals, as in the published runs.

    Raises
    ------
    AssertionError
        If the placement that comes of it breaks a rule.
    """
    whole = build_instance(coming.snapshot, coming.jobs, _MODEL)
    whole = replace(whole, mix=_typical(whole))
    total = sum(node.gpu_milli for node in whole.nodes)
    gpus = [whole.podsets[job.podsets[0]].gpu_milli for job in whole.jobs]
    reached = reaches(gpus, total)
    state = State(whole)
    placer = Placer(Scores(state, strategy))
    times: list[float] = []
    for jobs in cut(len(whole.jobs), window, tuple(reached.values())):
        began = elapsed()
        ordered = sorted(jobs, key=lambda j: _size(whole, whole.jobs[j]), reverse=True)
        for j in ordered:
            placer.place(j)
        times.append(elapsed() - began)
    found = state.placement()
    if check(whole, found):  # a pod that has come stays: legal at the end is legal throughout
        raise AssertionError(f"{strategy}: arrivals were placed against the rules")
    placed = [
        milli * found.placed(job.podsets[0]) for milli, job in zip(gpus, whole.jobs, strict=True)
    ]
    return Online(
        coming.trace,
        strategy.value,
        window,
        coming.seed,
        {load: _percent(sum(gpus[:end]), total) for load, end in reached.items()},
        {load: _percent(sum(placed[:end]), total) for load, end in reached.items()},
        round(max(times), 4),
        round(mean(times), 4),
    )


def reaches(gpu_milli: Sequence[int], total: int) -> dict[int, int]:
    """Return how many pods have come when each load is reached, or all if it never is."""
    arrived = list(accumulate(gpu_milli))
    return {
        load: min(1 + sum(100 * milli < load * total for milli in arrived), len(arrived))
        for load in LOADS_PERCENT
    }


def cut(pods: int, window: int, ends: Sequence[int]) -> list[range]:
    """Divide the arrivals into windows, of which none goes beyond any of the ends."""
    marks = sorted({0, *ends, pods})
    return [
        range(first, min(first + window, end))
        for begin, end in pairwise(marks)
        for first in range(begin, end, window)
    ]


def _percent(part: int, total: int) -> float:
    return round(100 * part / total, 4)


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
