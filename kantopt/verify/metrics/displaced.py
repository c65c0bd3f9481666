"""M16 displaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.kept import PER_TIER, kept_with_instance
from kantopt.problem.tiers import Tier, concerned
from kantopt.verify.metrics.unplaced import core, gpus_beside, missing
from kantopt.verify.step import Step


@kept_with_instance(most=PER_TIER)
def running_part(instance: Instance, tier: Tier) -> tuple[Job, ...]:
    """Jobs that a tier counts as if only what runs now were wanted, and no more of it a minimum."""
    found = []
    for job in concerned(instance, tier):
        roles = []
        for role in job.roles:
            if role.running is not None:
                count = instance.podsets[role.running].count
                least = min(role.min_count, count)
                roles.append(replace(role, count=count, min_count=least, pending=None))
        if roles:
            least = min(job.min_count, sum(role.count for role in roles))
            found.append(replace(job, roles=tuple(roles), min_count=least))
    return tuple(found)


@kept_with_instance(most=PER_TIER)
def running_parts(instance: Instance, tier: Tier) -> dict[int, Job]:
    """Return the jobs of :func:`running_part` by index."""
    return {job.index: job for job in running_part(instance, tier)}


def measure_displaced(tier: Tier, step: Step) -> int:
    """What runs now and is evicted, as far as its job cannot do without."""
    jobs = running_part(step.instance, tier)
    return sum(missing(tier, step, job) for job in jobs)


def bound_displaced(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """GPUs that run now and have no place beside what the tiers above have placed."""
    if tier.unit != "milli-GPU":
        return 0
    wanted = sum(core(tier, instance, job) for job in running_part(instance, tier))
    return max(0, wanted - gpus_beside(tier, instance, above))
