"""What a change of counts does to the tiers, without measuring anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.chains.scope import Group
from kantopt.verify.disturbance import disturbance

NEVER = 10**6
"""Rank of what matters to no tier."""
_DISTURBANCE = (
    Metric.DISPLACED,
    Metric.EVICTIONS,
    Metric.MOVES,
    Metric.MIGRATION_COST,
    Metric.DISRUPTION_COST,
)


@dataclass(frozen=True, slots=True)
class Effects:
    """Entries of the key that change with the pods of one group.

    Entry 0 of a key is what limits and minima are broken by; the tiers follow in their order.
    ``unplaced``: entry and weight of one pod; ``jobs``: entries that count the job as a whole;
    ``disruption``: entry, weight of an eviction, weight of a move.
    """

    unplaced: tuple[tuple[int, int], ...]
    jobs: tuple[int, ...]
    disruption: tuple[tuple[int, int, int], ...]
    placing: int
    """First entry that a placed pod lowers."""
    value: int
    """By how much."""
    evicting: int
    """First entry that an eviction raises."""
    moving: int
    """First entry that a move raises."""


def effects_of(
    instance: Instance, tiers: Sequence[Tier], group: Group, *, surplus: bool
) -> Effects:
    """Work out what pods of a group count in the tiers that counts alone decide.

    ``surplus``: they are members of a gang beyond its minimum.
    """
    job, first = instance.jobs[group.job], instance.podsets[group.podsets[0]]
    needed = max(job.min_count, job.roles[first.role].min_count)
    unplaced, jobs, disruption = [], [], []
    for i, tier in enumerate(tiers, 1):
        if not tier.concerns(job):
            continue
        if tier.metric is Metric.UNPLACED:
            # Beyond a gang's minimum a pod is surplus, and none of the job's concern.
            if tier.unit == "jobs":
                if not surplus:
                    jobs.append(i)
            elif tier.surplus == surplus and (pod := tier.weight(first)):
                unplaced.append((i, pod))
        elif tier.metric is Metric.DISPLACED and surplus and group.running >= needed:
            continue  # the job can do without
        elif tier.metric in _DISTURBANCE and group.running:
            disruption.append((i, *disturbance(tier, job, first)))
    placing = min([(i, pod) for i, pod in unplaced] + [(i, 1) for i in jobs], default=(NEVER, 0))
    return Effects(
        unplaced=tuple(unplaced),
        jobs=tuple(jobs),
        disruption=tuple(disruption),
        placing=placing[0],
        value=placing[1],
        evicting=min((i for i, e, _ in disruption if e), default=NEVER),
        moving=min((i for i, _, m in disruption if m), default=NEVER),
    )
