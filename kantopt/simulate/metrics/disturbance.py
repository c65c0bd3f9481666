"""What became of the jobs, and what was done to them on the way."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.window import Window


def disturbance(window: Window) -> Iterator[Value]:
    """Yield counts of jobs, and of evictions, failures and moves with the GPU time lost.

    The jobs are those that arrive in the window, and what happened to them is counted until the
    simulation ends: the accounts of jobs are kept for their whole life.
    """
    history, jobs = window.history, window.arrived
    mine = {i for i, job in enumerate(history.jobs) if window.begin <= job.arrival < window.end}
    failed = sum(stay.reason == "failed" and stay.job in mine for stay in history.stays)
    yield Value("jobs_arrived", len(jobs))
    yield Value("jobs_started", sum(window.by(job.started) for job in window.jobs))
    yield Value("jobs_finished", sum(map(window.done, window.jobs)))
    yield Value("jobs_refused", sum(bool(job.refused) for job in jobs))
    yield Value("jobs_backfilled", sum(job.backfilled for job in jobs))
    yield Value("evictions", sum(job.evictions for job in jobs))
    yield Value("failures", failed)
    yield Value("moved_pods", sum(job.moves for job in jobs))
    yield Value("lost_time", sum(job.lost for job in jobs))
