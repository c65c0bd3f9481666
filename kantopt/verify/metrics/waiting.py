"""M12 waiting time so far (JWTD, censored)."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.tiers import Tier
from kantopt.verify.step import Step


def waits(instance: Instance, job: Job) -> bool:
    """Whether a job waits to start: none of its pods runs."""
    return not instance.running_of(job.index)


def measure_waiting(tier: Tier, step: Step) -> int:
    """Seconds that the jobs which stay unplaced have waited so far."""
    return sum(
        job.waited_seconds
        for job in step.instance.jobs
        if waits(step.instance, job) and not step.satisfied(job)
    )


def bound_waiting(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: arithmetic does not say which jobs must wait."""
    return 0
