"""M23 fair share: what queues have less than they are entitled to."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.schema.quantity import gpu_milli
from kantopt.verify.bounds.departures import evictable
from kantopt.verify.metrics.unplaced import most_gpus_of_all, most_placed
from kantopt.verify.rules.quota import queue_limit
from kantopt.verify.step import Loads, Step


def measure_fair_share(tier: Tier, step: Step) -> int:
    """GPUs that queues have less than they want and their weight entitles them to."""
    instance = step.instance
    short = list(instance.entitled)
    for podset, placed in zip(instance.podsets, step.placed, strict=True):
        owner = instance.jobs[podset.job].owner
        if owner is not None and podset.gpu_milli:
            short[owner] -= placed * podset.gpu_milli
    return sum(max(0, milli) for milli in short)


def bound_fair_share(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """What queues cannot have by quota and room, and what those hold that nobody may evict.

    All queues together have no more GPUs than there are, less what others than queues hold for
    good, or queues beyond their entitlement.
    """
    most = _most(instance)
    alone = sum(max(0, wants - has) for wants, has in zip(instance.entitled, most, strict=True))
    gpus = most_gpus_of_all(instance)
    if gpus is None:
        return alone
    stays: dict[int | None, int] = {}
    for podset in instance.podsets:
        if podset.running and podset.index not in evictable(instance):
            owner = instance.jobs[podset.job].owner
            stays[owner] = stays.get(owner, 0) + podset.count * podset.gpu_milli
    gpus -= sum(
        milli if owner is None else max(0, milli - instance.entitled[owner])
        for owner, milli in stays.items()
    )
    return max(alone, sum(instance.entitled) - gpus)


def _most(instance: Instance) -> list[int]:
    """Most milli-GPU that each queue can have, whatever others have."""
    most, reserved = ([0] * len(instance.entitled) for _ in range(2))
    by_resource = [[0] * len(instance.resources) for _ in most]
    for job in instance.jobs:
        if job.owner is None:
            continue
        for role, pods in zip(job.roles, most_placed(instance, job), strict=True):
            podset = instance.podsets[role.podsets[0]]
            running = sum(instance.podsets[s].count for s in role.podsets if s == role.running)
            pods = max(pods, running)
            if job.queue is None:  # its quota is reserved
                reserved[job.owner] += pods * podset.gpu_milli
                continue
            most[job.owner] += pods * podset.gpu_milli
            for r, amount in enumerate(podset.demand):
                by_resource[job.owner][r] += pods * amount
    used = Loads.of(instance, instance.current).queue
    for q, amounts in enumerate(by_resource if instance.on(Rule.QUOTA) else ()):
        limited = {}
        for quota in instance.queues[q].quotas if q < len(instance.queues) else ():
            limit = queue_limit(instance.queues[q], quota)
            if limit is not None:
                limited[quota.resource] = max(limit, used[q][quota.resource])
        within = sum(
            gpu_milli(name, min(amount, limited.get(r, amount)))
            for r, (name, amount) in enumerate(zip(instance.resources, amounts, strict=True))
        )
        most[q] = min(most[q], within)
    return [sum(both) for both in zip(most, reserved, strict=True)]
