"""Bounded slowdown (Feitelson and Rudolph, "Metrics and benchmarking for parallel job scheduling",
1998): how much longer a job took than it would have alone, short jobs taken for longer ones."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from kantopt.planning.by_size import nearest_rank
from kantopt.simulate.history import JobRecord
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.waiting import by_size
from kantopt.simulate.metrics.window import Window

BOUND = 10_000
"""Milliseconds: jobs that work for less are taken for as long."""


def bounded_slowdown(job: JobRecord) -> float:
    """max(1, (end - arrival) / max(duration, 10 s)) of a job that is done.

    Who was told to leave ends when he would have without waiting, however long he waited.

    Raises
    ------
    ValueError
        If it is not.
    """
    if job.ended is None or job.left_early:
        raise ValueError(f"{job.name} is not done")
    return max(1.0, (job.ended - job.arrival) / max(job.duration, BOUND))


def slowdown(window: Window) -> Iterator[Value]:
    """Yield the slowdown of jobs that are done by the end of the window, by size class."""
    for size, jobs in by_size(window.jobs):
        ratios = sorted(bounded_slowdown(job) for job in jobs if window.done(job))
        yield Value("slowdown_jobs", len(ratios), size)
        yield Value("slowdown_unfinished", len(jobs) - len(ratios), size)
        if ratios:
            yield Value("slowdown_mean", fsum(ratios) / len(ratios), size)
            for percent in (50, 90, 99, 100):
                name = "max" if percent == 100 else f"p{percent}"
                yield Value(f"slowdown_{name}", nearest_rank(ratios, percent), size)
