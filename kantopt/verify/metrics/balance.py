"""M21 balance: load above a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.bounds.departures import may_leave
from kantopt.verify.metrics.unplaced import least_pods
from kantopt.verify.step import Loads, Step

WHOLE = 1000
"""What a node offers of a resource, in the unit of this metric."""


def excess(load: int, capacity: int, target: int) -> int:
    """Thousandths of a capacity by which a load exceeds a target in thousandths, rounded up."""
    return max(0, -(-(WHOLE * load - target * capacity) // capacity))


def shares_of(tier: Tier, instance: Instance) -> Iterator[tuple[int, int, int]]:
    """Node, resource and capacity of what a tier looks at; what has no limit has no share."""
    for n in sorted(counted(instance, tier)):
        for r in tier.resources:
            if capacity := instance.nodes[n].capacity[r]:
                yield n, r, capacity


def measure_balance(tier: Tier, step: Step) -> int:
    """Load of nodes that count above a target share, in thousandths of a node, by resource."""
    load = step.loads.node
    return sum(excess(load[n][r], c, tier.size) for n, r, c in shares_of(tier, step.instance))


def bound_balance(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Load that cannot leave its node, and what all pods that are placed take above the target.

    The latter as if pods could be cut: no node is full before all are at the target, and then the
    largest ones take most for a thousandth of themselves.
    """
    return sum(
        max(_stuck(tier, instance, r), _spread(tier, instance, r, above)) for r in tier.resources
    )


def _stuck(tier: Tier, instance: Instance, r: int) -> int:
    """What nodes are above the target by pods that can neither move nor be evicted."""
    load = [0] * len(instance.nodes)
    for podset in instance.podsets:
        if podset.requests[r] and not may_leave(instance, podset):
            for spot, pods in podset.current.items():
                load[spot.node] += pods * podset.requests[r]
    return sum(
        excess(load[n], capacity, tier.size)
        for n, which, capacity in shares_of(tier, instance)
        if which == r
    )


def _spread(tier: Tier, instance: Instance, r: int, values: Mapping[Tier, int]) -> int:
    """What nodes are above the target at least, whatever pods are where."""
    if not instance.on(Rule.CAPACITY):
        return 0
    standing = Loads.of(instance, instance.current).node
    looked_at = {n: c for n, which, c in shares_of(tier, instance) if which == r}
    pods = least_pods(instance, values)
    over = WHOLE * sum(p.requests[r] * k for p, k in zip(instance.podsets, pods, strict=True))
    for node in instance.nodes:
        if node.index not in looked_at:
            limit = node.capacity[r]
            if limit is None:
                return 0
            over -= WHOLE * max(limit, standing[node.index][r])
    over -= sum(tier.size * capacity for capacity in looked_at.values())
    total = Fraction(0)
    for capacity, n in sorted(((c, n) for n, c in looked_at.items()), reverse=True):
        if over <= 0:
            break
        room = WHOLE * max(capacity, standing[n][r]) - tier.size * capacity
        taken = min(over, max(0, room))
        total += Fraction(taken, capacity)
        over -= taken
    return -(-total.numerator // total.denominator)
