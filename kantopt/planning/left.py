"""What a placement leaves pending, job by job."""

from __future__ import annotations

from collections.abc import Callable

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.plan import Unplaced

Why = Callable[[int], tuple[str, str]]
"""Tells of a job, by its index, what stands in its way: a rule, and a message."""


def left_pending(instance: Instance, placement: Placement, why: Why) -> tuple[Unplaced, ...]:
    """List the jobs of which pending pods are not bound, each with the reason."""
    found = []
    for job in instance.jobs:
        pending = [p for p in map(instance.podsets.__getitem__, job.podsets) if not p.running]
        wanted = sum(podset.count for podset in pending)
        left = wanted - sum(placement.placed(podset.index) for podset in pending)
        if left:
            rule, message = why(job.index)
            found.append(
                Unplaced(
                    job=job.name,
                    priority=job.priority,
                    pods=left,
                    wanted=wanted,
                    rule=rule,
                    message=message,
                )
            )
    return tuple(found)
