"""M15 lost GPU time."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.required_nodes import least_to_clear
from kantopt.verify.bounds.required_room import least_lost_for_required
from kantopt.verify.metrics.evictions import lacking_gpus
from kantopt.verify.step import Step


def measure_lost_gpu_seconds(tier: Tier, step: Step) -> int:
    """GPU time since start or last checkpoint of the pods that are evicted or restart elsewhere."""
    lost = 0
    for podset in step.changed_podsets:
        if podset.lost_gpu_seconds and tier.concerns(step.instance.jobs[podset.job]):
            lost += podset.lost_gpu_seconds * stopped(podset, step)
    return lost


def stopped(podset: PodSet, step: Step) -> int:
    """Count the pods of a pod set that are evicted or restart elsewhere."""
    return step.evicted(podset.index) + step.restarts(podset.index)


def bound_lost_gpu_seconds(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Work that it takes to place required jobs.

    By the GPUs that they lack, see :mod:`kantopt.verify.bounds.required_room`; by the room that
    their pods lack on nodes, see :mod:`kantopt.verify.bounds.required_nodes`.
    """
    lost = least_lost_for_required(tier, instance, above, lacking_gpus(instance))
    return max(lost, least_to_clear(tier, instance, above))
