"""M19 cost: the price of the nodes in use."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.fees import cheapest, least_fees
from kantopt.verify.in_use import fees_of
from kantopt.verify.metrics.nodes_in_use import used_nodes
from kantopt.verify.metrics.unplaced import least_gpus_on_nodes
from kantopt.verify.step import Step


def measure_cost(tier: Tier, step: Step) -> int:
    """Price of the nodes that count and have a pod that is no daemon's, in millionths."""
    return sum(step.instance.nodes[n].price for n in used_nodes(tier, step))


def bound_cost(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Price of the nodes in use now, less those that may be emptied: each takes all its pods.

    And of the cheapest nodes that hold the pods which nobody may evict, or the GPUs of jobs that
    the tiers above have placed.
    """
    prices = fees_of(instance, tier)
    held = least_gpus_on_nodes(instance, above)
    return max(
        least_fees(instance, tier, above),
        0 if held is None else cheapest(instance, tier, held, prices),
    )
