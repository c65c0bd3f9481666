"""Tiers and limits as sums over pods: what each pod adds that arrives or is not placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.verify.disturbance import adds_up, disturbance

_DISTURBED = (Metric.DISPLACED, Metric.EVICTIONS, Metric.MOVES, Metric.DISRUPTION_COST)
"""Metrics of disturbance that are such sums."""
MOVES = "limit moves"
"""What a witness calls the limit on moves."""

Each = Callable[[PodSet], int]
"""What one pod of a pod set adds."""


@dataclass(frozen=True, slots=True)
class Row:
    """A sum over pods and what it may be at most; never more than what it stands for."""

    arrival: Each
    missing: Each
    limit: int
    name: str
    """What a witness calls it."""
    pieces: int = 0
    """Weight of what pieces lack."""


def name_of(tier: Tier) -> str:
    """Return what a witness calls a tier that is limited."""
    return f"tier {tier.name}"


def none_of(podset: PodSet) -> int:
    """Return 0: such pods add nothing."""
    return 0


def limit_rows(instance: Instance) -> list[Row]:
    """Return the model's limits as rows."""
    limits, rows = instance.model.limits, []

    def running(podset: PodSet) -> int:
        return int(podset.running)

    if limits.moves is not None:
        rows.append(Row(running, none_of, limits.moves, MOVES))
    if limits.evictions is not None:
        rows.append(Row(none_of, running, limits.evictions, "limit evictions"))
    for job in instance.jobs:
        if job.most_moves:  # pods of those with none do not move at all
            of_job = partial(_of, job.index)
            rows.append(Row(of_job, none_of, job.most_moves, f"{MOVES} of {job.name}"))
    return rows


def _of(j: int, podset: PodSet) -> int:
    return int(podset.running and podset.job == j)


def tier_row(instance: Instance, tier: Tier, value: int) -> Row | None:
    """Return a tier as a row; ``None`` for one that is no sum over pods.

    Pods of gangs of several, and of jobs that are evicted as a whole, add nothing: what such a job
    costs is no sum over its pods.
    """

    def missing(podset: PodSet) -> int:
        job = instance.job_of(podset.index)
        if not tier.concerns(job) or tier.surplus:
            return 0
        if tier.unit == "jobs":
            return int(job.count == 1)
        return tier.weight(podset) if job.count == 1 or not job.is_gang else 0

    def disturbed(way: int, podset: PodSet) -> int:
        job = instance.job_of(podset.index)
        alone = tier.metric is Metric.EVICTIONS and job.count == 1
        if not podset.running or not tier.concerns(job) or not (alone or adds_up(tier, job)):
            return 0
        return disturbance(tier, job, podset)[way]

    if tier.metric is Metric.UNPLACED:
        return Row(none_of, missing, value, name_of(tier))
    if tier.metric in _DISTURBED:
        evicted, moved = partial(disturbed, 0), partial(disturbed, 1)
        return Row(moved, evicted, value, name_of(tier))
    return None
