"""Tiers and limits as sums over pods: what each pod adds that arrives or is not placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric

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

    def counted(podset: PodSet) -> bool:
        return tier.concerns(instance.job_of(podset.index))

    def moved(podset: PodSet) -> int:
        return int(podset.running and counted(podset))

    def cost(podset: PodSet) -> int:
        job = instance.job_of(podset.index)
        if not podset.running or not counted(podset):
            return 0
        if tier.counts_pods:
            return 1
        if job.all_victims:
            return job.disruption_cost if job.count == 1 else 0
        return podset.disruption_cost

    def missing(podset: PodSet) -> int:
        job = instance.job_of(podset.index)
        if not counted(podset) or tier.surplus:
            return 0
        if tier.unit == "jobs":
            return int(job.count == 1)
        return tier.weight(podset) if job.count == 1 or not job.is_gang else 0

    def displaced(podset: PodSet) -> int:
        gang = instance.job_of(podset.index).is_gang
        return tier.weight(podset) if moved(podset) and not gang else 0

    name = name_of(tier)
    match tier.metric:
        case Metric.DISPLACED:
            return Row(none_of, displaced, value, name)
        case Metric.MOVES:
            return Row(moved, none_of, value, name)
        case Metric.EVICTIONS:
            return Row(none_of, cost, value, name)
        case Metric.DISRUPTION_COST:
            return Row(moved, lambda podset: 2 * moved(podset), value, name)
        case Metric.UNPLACED:
            return Row(none_of, missing, value, name)
        case _:
            return None
