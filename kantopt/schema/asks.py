"""What a job asks of its queue."""

from __future__ import annotations

from collections import Counter

from kantopt.schema.jobs import Job
from kantopt.schema.quantity import to_base


def asks(job: Job, *, least: bool = False) -> Counter[str]:
    """Return what all pods of a job ask for in base units, ``pods`` among it; of nothing nothing.

    Parameters
    ----------
    job
        Any job.
    least
        Count only the fewest pods that are worth running.
    """
    found = Counter[str]()
    for role in job.pod_sets:
        count = job.least_of(role) if least else role.count
        for resource, amount in {"pods": 1, **role.requests}.items():
            found[resource] += count * to_base(resource, amount)
    return +found


def one_pod(job: Job) -> Job:
    """Return a job of one pod of the first kind that another has: what it can do with, at least."""
    (first, *_) = job.pod_sets
    return job.model_copy(update={"pod_sets": (first.model_copy(update={"count": 1}),)})
