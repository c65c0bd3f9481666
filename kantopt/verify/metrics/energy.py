"""M20 energy: the power that the nodes in use draw."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.departures import may_leave
from kantopt.verify.bounds.fees import cheapest, least_fees
from kantopt.verify.in_use import fees_of
from kantopt.verify.metrics.nodes_in_use import used_nodes
from kantopt.verify.metrics.unplaced import gpu_unit, least_gpus_on_nodes
from kantopt.verify.step import Step


def measure_energy(tier: Tier, step: Step) -> int:
    """Power that nodes draw which count and are in use, in milliwatts: idle, and by GPU held.

    Daemons keep no node in use, and what they hold is not counted.
    """
    nodes, fees = step.instance.nodes, fees_of(step.instance, tier)
    total = sum(fees[n] for n in used_nodes(tier, step))
    return total + sum(
        podset.gpu_milli * pods * nodes[spot.node].power_per_gpu
        for podset, spots in zip(step.instance.podsets, step.after.podsets, strict=True)
        if podset.gpu_milli and not podset.daemon
        for spot, pods in spots.items()
        if spot.node in counted(step.instance, tier)
    )


def bound_energy(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Power of the nodes in use now, less those that may be emptied, and of GPUs that stay theirs.

    And of the most frugal nodes that hold the GPUs of jobs that the tiers above have placed.
    """
    nodes, here = instance.nodes, counted(instance, tier)
    stay = sum(
        podset.gpu_milli * pods * nodes[spot.node].power_per_gpu
        for podset in instance.podsets
        if podset.gpu_milli and not podset.daemon and not may_leave(instance, podset)
        for spot, pods in podset.current.items()
        if spot.node in here
    )
    held = least_gpus_on_nodes(instance, above)
    if held is None:
        return least_fees(instance, tier, above) + stay
    unit = gpu_unit(instance)
    each = [unit * node.power_per_gpu for node in nodes]
    return max(
        least_fees(instance, tier, above) + stay,
        cheapest(instance, tier, held, fees_of(instance, tier), each),
    )
