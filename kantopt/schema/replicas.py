"""Jobs of several replicas, as in a LeaderWorkerSet: each replica is a job of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from kantopt.schema.duration import duration_seconds
from kantopt.schema.jobs import Job
from kantopt.schema.trace import TraceJob

_J = TypeVar("_J", bound=Job)


class Span(NamedTuple):
    """When a replica comes and when it is told to leave, seconds after the arrival of its job."""

    begin: int
    end: int | None


def spans_of(job: Job) -> list[Span]:
    """Return a span for each replica that a job ever has, in order of coming.

    Where there are to be fewer, those leave that came last, as in a StatefulSet.
    """
    steps = [(0, job.replicas or 0)]
    if isinstance(job, TraceJob):
        steps += [(duration_seconds(step.after), step.replicas) for step in job.scale]
    spans: list[Span] = []
    there: list[int] = []
    for at, wanted in steps:
        for number in reversed(there[wanted:]):
            spans[number] = Span(spans[number].begin, at)
        del there[wanted:]
        while len(there) < wanted:
            there.append(len(spans))
            spans.append(Span(at, None))
    return spans


def names_of(job: Job) -> list[str]:
    """Return NAMESPACE/NAME of the jobs that a job stands for."""
    name = job.full_name
    return [name] if job.replicas is None else [f"{name}-{i}" for i in range(len(spans_of(job)))]


def replica(job: _J, number: int) -> _J:
    """Return a replica of a job: the same pods under a name of its own."""
    return job.model_copy(update={"name": f"{job.name}-{number}", "replicas": None})


def replicated(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Return the jobs that some jobs stand for: themselves, or their replicas."""
    return tuple(
        each
        for job in jobs
        for each in (
            (job,) if job.replicas is None else (replica(job, i) for i in range(job.replicas))
        )
    )
