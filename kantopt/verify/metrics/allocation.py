"""M9 allocation (GAR)."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics.fragmented_nodes import node_gpus_used
from kantopt.verify.step import Step


def measure_allocation(tier: Tier, step: Step) -> int:
    """GPUs of the cluster that no pod holds."""
    offered = sum(node.gpu_milli for node in step.instance.nodes)
    return max(0, offered - sum(node_gpus_used(step)))


def bound_allocation(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """GPUs beyond all that is wanted."""
    offered = sum(node.gpu_milli for node in instance.nodes)
    wanted = sum(podset.count * podset.gpu_milli for podset in instance.podsets)
    return max(0, offered - wanted)
