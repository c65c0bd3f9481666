"""JWTD: how long jobs wait, by size, with those that still wait at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kantopt.planning.by_size import SIZES, size_of
from kantopt.simulate.history import JobRecord
from kantopt.simulate.metrics.kaplan_meier import Survival, kaplan_meier
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.window import Window

ALL = "all"
"""Scope of all sizes together."""


def waits(window: Window, jobs: Iterable[JobRecord]) -> list[tuple[int, bool]]:
    """Return how long each job waited for its first start, milliseconds, and whether it came."""
    found = []
    for job in jobs:
        if job.started is not None and window.by(job.started):
            found.append((job.started - job.arrival, True))
        else:
            end = window.end if job.withdrawn is None else min(window.end, job.withdrawn)
            found.append((end - job.arrival, False))
    return found


def by_size(jobs: Iterable[JobRecord]) -> list[tuple[str, list[JobRecord]]]:
    """Part jobs by size class; all of them come first. Classes without a job are left out."""
    classes: dict[str, list[JobRecord]] = {ALL: []}
    for job in jobs:
        classes[ALL].append(job)
        classes.setdefault(size_of(job.gpus), []).append(job)
    return [(size, classes[size]) for size in (ALL, *SIZES) if classes.get(size)]


def waiting(window: Window, percentiles: Sequence[int] = (50, 90, 99)) -> Iterator[Value]:
    """Yield counts, mean, percentiles and maximum of the waiting time of each size class."""
    for size, jobs in by_size(window.jobs):
        curve = kaplan_meier(waits(window, jobs))
        yield Value("wait_jobs", curve.count, size)
        yield Value("wait_censored", curve.censored, size)
        yield Value("wait_mean", curve.mean, size, at_least=not curve.complete)
        for percent in percentiles:
            yield _percentile(curve, percent, size)
        yield Value("wait_max", curve.longest, size, at_least=curve.censored > 0)


def _percentile(curve: Survival, percent: int, size: str) -> Value:
    reached = curve.quantile(percent)
    value = curve.longest if reached is None else reached
    return Value(f"wait_p{percent}", value, size, at_least=reached is None)
