"""M9 allocation (GAR)."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics.fragmented_nodes import node_gpus_used
from kantopt.verify.step import Step


def measure_allocation(tier: Tier, step: Step) -> int:
    """GPUs of the nodes that count, that no pod on them holds."""
    used, nodes = node_gpus_used(step), counted(step.instance, tier)
    return max(0, offered_gpus(step.instance, tier) - sum(used[n] for n in nodes))


def offered_gpus(instance: Instance, tier: Tier) -> int:
    """Milli-GPU of the nodes that a tier counts."""
    return sum(instance.nodes[n].gpu_milli for n in counted(instance, tier))


def bound_allocation(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """GPUs beyond all that is wanted."""
    wanted = sum(podset.count * podset.gpu_milli for podset in instance.podsets)
    return max(0, offered_gpus(instance, tier) - wanted)
