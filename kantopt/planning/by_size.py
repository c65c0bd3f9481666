"""Numbers per job, by the size of the job: how far gangs are spread, how long jobs have waited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.kept import kept_with_instance
from kantopt.schema.answers.reports import Spread, SpreadFigure
from kantopt.verify.bounds.fewest import fewest_together
from kantopt.verify.metrics.waiting import waits
from kantopt.verify.step import Step

SIZES = ("CPU only", "1", "2-7", "8", "9-63", "64-255", "256-1023", "1024-2047", ">=2048")
"""Size classes of jobs by the GPUs that they want; a share of one GPU counts as 1."""

_UP_TO = (1, 7, 8, 63, 255, 1023, 2047)
_Number = TypeVar("_Number", float, Fraction)
_Value = Callable[[Step, Job], Fraction | None]


def size_class(instance: Instance, job: Job) -> str:
    """Size class of a job."""
    wanted = [
        role.count * instance.podsets[role.podsets[0]].gpu_milli
        for role in job.roles
        if role.podsets
    ]
    return size_of(sum(wanted))


def size_of(gpu_milli: int) -> str:
    """Size class of a job that wants so many thousandths of GPUs."""
    gpus = -(-gpu_milli // 1000)
    if not gpus:
        return SIZES[0]
    return SIZES[1 + sum(gpus > limit for limit in _UP_TO)]


def spread_figures(before: Step, after: Step | None, level: int | None) -> Iterator[SpreadFigure]:
    """Yield D_node, D_group and the waiting time of each size class that has jobs.

    D is the number of nodes (or groups of a topology level) that a placed gang uses over the
    fewest that hold its least members on an empty cluster; waiting is that of jobs of which no
    pod runs, so far: they wait on. It is left out if the documents do not tell.
    """

    def groups(step: Step, job: Job) -> Fraction | None:
        return None if level is None else _ratio(step, job, level)

    yield from _by_size("D_node", "nodes over the fewest", before, after, _ratio)
    yield from _by_size("D_group", "groups over the fewest", before, after, groups)
    if any(job.waited_seconds for job in before.instance.jobs):
        yield from _by_size("waiting", "seconds", before, after, _waited)


def _by_size(
    metric: str, unit: str, before: Step, after: Step | None, value: _Value
) -> Iterator[SpreadFigure]:
    instance = before.instance
    classes = [size_class(instance, job) for job in instance.jobs]
    least = Fraction(1) if metric.startswith("D_") else None
    states = [_values(step, classes, value) if step else {} for step in (before, after)]
    for size in SIZES:
        was, then = (_spread(state.get(size, []), least) for state in states)
        if was is not None or then is not None:
            yield SpreadFigure(metric=metric, size=size, unit=unit, before=was, after=then)


def _values(step: Step, classes: Sequence[str], value: _Value) -> dict[str, list[Fraction]]:
    found: dict[str, list[Fraction]] = {}
    for job, size in zip(step.instance.jobs, classes, strict=True):
        number = value(step, job)
        if number is not None:
            found.setdefault(size, []).append(number)
    return found


def _spread(values: list[Fraction], least: Fraction | None) -> Spread | None:
    if not values:
        return None
    values = sorted(values)

    return Spread(
        count=len(values),
        mean=_rounded(sum(values, Fraction(0)) / len(values)),
        p50=_rounded(nearest_rank(values, 50)),
        p90=_rounded(nearest_rank(values, 90)),
        max=_rounded(values[-1]),
        least=None if least is None else sum(value <= least for value in values),
    )


def nearest_rank(ordered: Sequence[_Number], percent: int) -> _Number:
    """Return the least of the numbers, ascending, that ``percent`` percent do not exceed.

    Raises
    ------
    IndexError
        If there are none.
    """
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


def _rounded(value: Fraction) -> float:
    return round(float(value), 4)


def _ratio(step: Step, job: Job, level: int | None = None) -> Fraction | None:
    """Domains of a level that a gang uses over the fewest that hold it; without a level nodes."""
    if not job.is_gang:
        return None
    instance = step.instance
    domain_of = range(len(instance.nodes)) if level is None else instance.topology.domain_of[level]
    used = {domain_of[spot.node] for s in job.podsets for spot in step.after.podsets[s]}
    if not used:
        return None
    # The fewest take long to find, and one region is never more than they are.
    fewest = (
        1 if len(used) == 1 else max(1, fewest_together(instance, job, _regions(instance, level)))
    )
    return Fraction(len(used), fewest)


@kept_with_instance(most=16)
def _regions(instance: Instance, level: int | None) -> Sequence[Sequence[int]]:
    """Nodes of each domain of a level; without a level each node by itself."""
    if level is None:
        return [(n,) for n in range(len(instance.nodes))]
    return [domain.nodes for domain in instance.topology.domains[level]]


def _waited(step: Step, job: Job) -> Fraction | None:
    if not waits(step.instance, job) or step.satisfied(job):
        return None
    return Fraction(job.waited_seconds)
