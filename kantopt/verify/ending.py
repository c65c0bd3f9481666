"""Jobs of which evicted pods are gone for good, since nobody makes them anew."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.job import Job
from kantopt.verify.step import Step


def evicted(step: Step, job: Job) -> int:
    """Count the running pods of a job that a step evicts."""
    return sum(map(step.evicted, step.instance.running_of(job.index)))


def ended(step: Step, job: Job) -> int:
    """Count the running pods of a job that end where they are: evicted, or moved by a restart."""
    moved = sum(map(step.moved, step.instance.running_of(job.index)))
    return evicted(step, job) + moved * (job.move_mode == "restart")


def for_good(step: Step, bears: Mapping[str, int]) -> frozenset[int]:
    """Return the jobs that lose pods in a step which nobody makes anew.

    Parameters
    ----------
    step
        From where pods are to where they are in the end.
    bears
        How many pods of some jobs may end before nobody makes them anew, by the jobs' names.
    """
    return frozenset(
        job.index
        for job in step.instance.jobs
        if job.name in bears and evicted(step, job) and ended(step, job) > bears[job.name]
    )
