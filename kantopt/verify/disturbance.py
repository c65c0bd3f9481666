"""What it adds to a tier that a running pod is evicted, or moves."""

from __future__ import annotations

from kantopt.problem.job import Job, PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric

DISRUPTION = (Metric.EVICTIONS, Metric.MOVES, Metric.DISRUPTION_COST)
"""Metrics that count who is disturbed: above others they let pods do less."""


def disturbance(tier: Tier, job: Job, podset: PodSet) -> tuple[int, int]:
    """Return what an eviction and what a move of one pod of a job add to a tier, at most.

    Exactly that where :func:`adds_up`.
    """
    match tier.metric:
        case Metric.DISPLACED:
            return tier.weight(podset), 0
        case Metric.EVICTIONS if tier.counts_pods:
            return 1, 0
        case Metric.EVICTIONS:
            return job.disruption_cost if job.all_victims else podset.disruption_cost, 0
        case Metric.LOST_GPU_SECONDS:
            # Pods that restart elsewhere lose their work as well as those that are evicted.
            lost = podset.lost_gpu_seconds
            return lost, lost if job.move_mode == "restart" else 0
        case Metric.MOVES:
            return 0, 1
        case Metric.MIGRATION_COST:
            return 0, podset.migration_mib
        case Metric.DISRUPTION_COST:
            return 2, 1
        case _:
            return 0, 0


def adds_up(tier: Tier, job: Job) -> bool:
    """Whether a tier of disturbance is a sum over the pods of a job.

    Not so of gangs that are displaced, which can do without some, and not of jobs that are evicted
    as a whole: their cost counts once.
    """
    if tier.metric is Metric.DISPLACED:
        return not job.is_gang
    return tier.metric is not Metric.EVICTIONS or tier.counts_pods or not job.all_victims
