"""Jobs that arithmetic cannot tell apart: counted, not named."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job


@lru_cache(maxsize=4)
def first_alike(instance: Instance) -> tuple[int, ...]:
    """Return for each job the first one of its kind, by index.

    Told alike are pending jobs of one pod set each, of one priority and queue, whose pods ask for
    the same and may go to the same nodes. Whom they must be near or far from is not looked at.
    """
    first: dict[object, int] = {}
    found = []
    for job in instance.jobs:
        podset = instance.podsets[job.podsets[0]]
        kind: object = job.index
        if len(job.podsets) == 1 and not podset.running and job.index not in instance.needs_of:
            kind = (
                job.priority,
                job.may_preempt,
                job.queue,
                job.is_gang,
                job.min_count,
                job.roles[0].min_count,
                podset.count,
                podset.requests,
                podset.devices,
                podset.allowed,
            )
        found.append(first.setdefault(kind, job.index))
    return tuple(found)


@lru_cache(maxsize=4)
def alike_jobs(instance: Instance) -> tuple[tuple[Job, int], ...]:
    """Return one job of each kind, and how many of its kind there are; in input order."""
    return tuple((instance.jobs[j], number) for j, number in Counter(first_alike(instance)).items())
