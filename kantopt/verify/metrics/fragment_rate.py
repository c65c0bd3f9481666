"""M13 fragment rate: free slots of one size that are missing."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.bounds.departures import evictable, may_move
from kantopt.verify.rules.devices import as_wanted
from kantopt.verify.step import Loads, Step


def free_amounts(tier: Tier, loads: Loads) -> list[int]:
    """Free amount of the tier's resource on each node that counts, or each device of its class."""
    return [max(0, left) for left in _left(tier, loads)]


def ideal_slots(tier: Tier, step: Step) -> int:
    """Slots that those missing are counted from: of all that is free in one piece, or offered."""
    if tier.of_capacity:
        return slots_offered(tier, step.instance)
    return sum(free_amounts(tier, step.loads)) // tier.size


def slots_now(tier: Tier, loads: Loads) -> int:
    """Free slots, each of one piece."""
    return sum(free // tier.size for free in free_amounts(tier, loads))


@kept_with_instance(most=64)
def slots_offered(tier: Tier, instance: Instance) -> int:
    """Slots that there would be if nothing ran."""
    return 0 if tier.resource is None else slots_now(tier, Loads(instance))


def measure_fragment_rate(tier: Tier, step: Step) -> int:
    """Slots that the free amount, or all that is offered, would make, less those that it makes."""
    return 0 if tier.resource is None else ideal_slots(tier, step) - slots_now(tier, step.loads)


def bound_fragment_rate(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """At best no slot is missing but those of which pods that have to stay take the room."""
    if not tier.of_capacity or tier.resource is None:
        return 0
    nodes = counted(instance, tier)
    if tier.device_class is None:
        nodes = frozenset(n for n in nodes if instance.nodes[n].capacity[tier.resource] is not None)
    # What pods take that stay in every plan where they are, or among the nodes that count.
    here, among = Loads(instance), Loads(instance)
    gone = evictable(instance)
    for s, podset in enumerate(instance.podsets):
        if not podset.running or s in gone:
            continue
        moves = may_move(instance, podset)
        inside = instance.on(Rule.ELIGIBILITY) and podset.allowed <= nodes
        for spot, pods in podset.current.items():
            if not moves:
                here.add(s, spot, pods)
            asked = tier.device_class is None or as_wanted(
                instance.nodes[spot.node], podset.devices, spot.devices
            )
            if spot.node in nodes and ((inside and asked) or not moves):
                among.add(s, spot, pods)
    most = slots_now(tier, here)
    if instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES):
        # What is overfull now may stay so: what is taken there of no room leaves it elsewhere.
        over = sum(max(0, -left) for left in _left(tier, Loads.of(instance, instance.current)))
        most = min(most, (sum(_left(tier, among)) + over) // tier.size)
    return slots_offered(tier, instance) - most


def _left(tier: Tier, loads: Loads) -> list[int]:
    """What is left of each piece that counts; below 0 where more is taken than there is."""
    r = tier.resource
    left: list[int] = []
    if r is None:
        return left
    nodes = counted(loads.instance, tier)
    for node in loads.instance.nodes:
        if node.index not in nodes:
            continue
        if tier.device_class is None:
            limit = node.capacity[r]
            if limit is not None:
                left.append(limit - loads.node[node.index][r])
        else:
            left.extend(
                node.devices[d].capacity[r] - loads.device[node.index][d][r]
                for d in node.devices_of(tier.device_class)
            )
    return left
