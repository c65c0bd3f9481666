"""Services whose load changes: a job of a trace as replicas that come and are told to leave."""

from __future__ import annotations

from kantopt.schema.duration import duration_seconds
from kantopt.schema.replicas import replica, spans_of
from kantopt.schema.trace import TraceJob


def over_time(job: TraceJob) -> list[tuple[TraceJob, int | None]]:
    """Return the jobs that a job of a trace stands for, in order of coming, and when each leaves.

    Moments are in seconds since the start of the trace; ``None``: it leaves once it is done. Its
    duration is no longer than the time until then, for which it would run if it never waited.
    """
    if job.replicas is None:
        return [(job, None)]
    arrival, found = duration_seconds(job.arrival), []
    for number, (begin, end) in enumerate(spans_of(job)):
        most = {"arrival": f"{arrival + begin}s", "scale": ()}
        if end is not None:
            most["duration"] = f"{min(duration_seconds(job.duration), end - begin)}s"
            if job.estimate is not None:
                most["estimate"] = f"{min(duration_seconds(job.estimate), end - begin)}s"
        leaves = None if end is None else arrival + end
        found.append((replica(job, number).model_copy(update=most), leaves))
    return found
