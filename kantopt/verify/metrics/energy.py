"""M20 energy: the power that the nodes in use draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    fees, every = fees_of(step.instance, tier), range(len(step.instance.podsets))
    return sum(fees[n] for n in used_nodes(tier, step)) + _drawn(tier, step, every)


def _drawn(tier: Tier, step: Step, podsets: Iterable[int]) -> int:
    """Power of the GPUs that some pods hold on nodes that count."""
    instance, here = step.instance, counted(step.instance, tier)
    return sum(
        instance.podsets[s].gpu_milli * pods * instance.nodes[spot.node].power_per_gpu
        for s in podsets
        if instance.podsets[s].gpu_milli and not instance.podsets[s].daemon
        for spot, pods in step.after.podsets[s].items()
        if spot.node in here
    )


def bound_energy(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Power of the nodes in use now, less those that may be emptied, and of GPUs that stay theirs.

    And of the most frugal nodes that hold the GPUs of jobs that the tiers above have placed.
    """
    stay = (podset.index for podset in instance.podsets if not may_leave(instance, podset))
    now = Step(instance, instance.current, instance.current)
    least = least_fees(instance, tier, above) + _drawn(tier, now, stay)
    held = least_gpus_on_nodes(instance, above)
    if held is None:
        return least
    unit = gpu_unit(instance)
    each = [unit * node.power_per_gpu for node in instance.nodes]
    return max(least, cheapest(instance, tier, held, fees_of(instance, tier), each))
