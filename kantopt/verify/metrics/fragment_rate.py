"""M13 fragment rate: free slots of one size that are missing."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.step import Step


def free_amounts(tier: Tier, step: Step) -> list[int]:
    """Free amount of the tier's resource on each node that counts, or each device of its class."""
    r = tier.resource
    free: list[int] = []
    if r is None:
        return free
    nodes = counted(step.instance, tier)
    for node in step.instance.nodes:
        if node.index not in nodes:
            continue
        if tier.device_class is None:
            limit = node.capacity[r]
            if limit is not None:
                free.append(max(0, limit - step.loads.node[node.index][r]))
        else:
            free.extend(
                max(0, node.devices[d].capacity[r] - step.loads.device[node.index][d][r])
                for d in node.devices_of(tier.device_class)
            )
    return free


def measure_fragment_rate(tier: Tier, step: Step) -> int:
    """Slots that the free amount would make in one piece, less those that it makes."""
    free = free_amounts(tier, step)
    return sum(free) // tier.size - sum(amount // tier.size for amount in free)


def bound_fragment_rate(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: at best no slot is missing."""
    return 0
