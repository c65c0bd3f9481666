"""Jobs of which evicted pods are gone for good, since nobody makes them anew."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.verify.step import Step


def evicted(instance: Instance, placement: Placement, job: Job) -> int:
    """Count the running pods of a job that a placement evicts."""
    running = (instance.podsets[s] for s in instance.running_of(job.index))
    return sum(podset.count - placement.placed(podset.index) for podset in running)


def ended(instance: Instance, placement: Placement, job: Job) -> int:
    """Count the running pods of a job that end where they are: evicted, or moved by a restart."""
    step = Step(instance, instance.current, placement)
    moved = sum(map(step.moved, instance.running_of(job.index)))
    return evicted(instance, placement, job) + moved * (job.move_mode == "restart")


def for_good(instance: Instance, placement: Placement, bears: Mapping[str, int]) -> frozenset[int]:
    """Return the jobs that lose pods in a placement which nobody makes anew.

    Parameters
    ----------
    instance, placement
        The question, and where its pods are in the end.
    bears
        How many pods of some jobs may end before nobody makes them anew, by the jobs' names.
    """
    return frozenset(
        job.index
        for job in instance.jobs
        if job.name in bears
        and evicted(instance, placement, job)
        and ended(instance, placement, job) > bears[job.name]
    )
