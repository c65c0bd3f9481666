"""Evictions, and lost work, without which required jobs have no GPUs: a knapsack in part.

Dantzig 1957.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.verify.bounds.departures import evictable
from kantopt.verify.bounds.in_part import least_in_part
from kantopt.verify.disturbance import adds_up, disturbance

_Victims = tuple[Fraction, int, int]
"""Cost and milli-GPU of each, and their number."""


def least_for_required(
    tier: Tier, instance: Instance, above: Mapping[Tier, int], lacking: int
) -> int:
    """Return what a tier of evictions comes to at least, so that required jobs have their GPUs.

    Other priorities give what they can at the values of the tiers above.

    Parameters
    ----------
    lacking
        Milli-GPU that others must give up for them.
    """
    if lacking <= 0:
        return 0
    values = _costs(above)
    if tier.priority is None:
        return least_in_part(_all(tier, instance, values), lacking)
    for p in instance.priorities:
        if p != tier.priority:
            lacking -= _most(list(_victims(tier, instance, p)), values.get(p))
    return least_in_part(_victims(tier, instance, tier.priority), lacking)


def least_lost_for_required(
    tier: Tier, instance: Instance, above: Mapping[Tier, int], lacking: int
) -> int:
    """Return what GPU time is lost at least, so that required jobs have their GPUs.

    Each priority gives no more than the values of the tiers above let it.

    Parameters
    ----------
    lacking
        Milli-GPU that others must give up for them.
    """
    if lacking <= 0:
        return 0
    values = _costs(above)
    found: list[tuple[Fraction, int, int]] = []
    given: dict[int, int] = {}
    for p in instance.priorities:
        costs = _victims(Tier(Metric.EVICTIONS, "cost", priority=p), instance, p)
        given[p] = _most(list(costs), values.get(p))
        if tier.priority not in (None, p):
            lacking -= given[p]
            continue
        for podset in _podsets(instance, p):
            gpus = podset.gpu_milli
            found.append((Fraction(podset.lost_gpu_seconds, gpus), gpus * podset.count, p))
    lost = Fraction(0)
    for each, gpus, p in sorted(found):
        gone = min(gpus, given[p], max(0, lacking))
        lost += each * gone
        given[p] -= gone
        lacking -= gone
    return ceil(lost)


def _costs(above: Mapping[Tier, int]) -> dict[int | None, int]:
    """What evictions cost at most by priority."""
    return {
        other.priority: value
        for other, value in above.items()
        if other.metric is Metric.EVICTIONS and not other.counts_pods
    }


def _all(tier: Tier, instance: Instance, values: Mapping[int | None, int]) -> Iterator[_Victims]:
    """Victims of all priorities; where a tier above has none only those that cost nothing there."""
    for p in instance.priorities:
        pods = zip(
            _victims(tier, instance, p),
            _victims(Tier(Metric.EVICTIONS, "cost", priority=p), instance, p),
            strict=True,
        )
        yield from (each for each, (cost, _, _) in pods if values.get(p) != 0 or not cost)


def _victims(tier: Tier, instance: Instance, priority: int) -> Iterator[_Victims]:
    """What pods with GPUs that some plan could evict hold and cost, of one priority."""
    for podset in _podsets(instance, priority):
        job = instance.jobs[podset.job]
        cost = Fraction(disturbance(tier, job, podset)[0])
        if not adds_up(tier, job):
            # A share of what the job costs as a whole, at most for all that its pods hold.
            cost /= instance.pods_of(instance.running_of(job.index))
        yield cost, podset.gpu_milli, podset.count


def _podsets(instance: Instance, priority: int) -> Iterator[PodSet]:
    """Pods with GPUs that some plan could evict, of one priority."""
    for s in sorted(evictable(instance)):
        podset, job = instance.podsets[s], instance.job_of(s)
        if job.priority == priority and job.index not in instance.required and podset.gpu_milli:
            yield podset


def _most(victims: list[_Victims], value: int | None) -> int:
    """Return the most milli-GPU of victims that cost no more than a value; the last in part."""
    if value is None:
        return sum(gpus * pods for _, gpus, pods in victims)
    found, left = Fraction(0), Fraction(value)
    for cost, gpus, pods in sorted(victims, key=lambda victim: victim[0] / victim[1]):
        gone = min(Fraction(pods), left / cost) if cost else Fraction(pods)
        found += gpus * gone
        left -= cost * gone
    return ceil(found)
