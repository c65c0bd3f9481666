"""Jobs that arithmetic cannot tell apart: counted, not named."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.tiers import Tier, concerned


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
def _numbers(instance: Instance) -> Counter[int]:
    """Return by index of the first job of each kind how many of its kind there are."""
    return Counter(first_alike(instance))


def alike_jobs(instance: Instance, tier: Tier) -> list[tuple[Job, int]]:
    """Return one job of each kind that a tier looks at, and how many there are; in input order."""
    numbers = _numbers(instance)
    jobs = concerned(instance, tier)
    return [(job, numbers[job.index]) for job in jobs if job.index in numbers]
