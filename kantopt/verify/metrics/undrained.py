"""M17 undrained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.bounds.departures import (
    evictable,
    may_move,
    most_evictions,
    most_moves,
    to_drain,
)
from kantopt.verify.step import Step


def measure_undrained(tier: Tier, step: Step) -> int:
    """Pods that stay on nodes to be emptied; daemons belong to theirs, and what terminates leaves
    by itself.

    See ``PodSet.is_drained``.
    """
    drained = step.instance.drained
    return sum(
        pods
        for podset, spots in zip(step.instance.podsets, step.after.podsets, strict=True)
        if drained and podset.is_drained
        for spot, pods in spots.items()
        if spot.node in drained
    )


def bound_undrained(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Pods there that nothing lets go: pins, limits, or that no other node admits them."""
    there = to_drain(instance)
    left = most_moves(instance, above) + most_evictions(instance, above)
    stay: Counter[int] = Counter()
    go: Counter[int] = Counter()
    for s, pods in there.items():
        podset = instance.podsets[s]
        if s not in evictable(instance):
            fixed = not may_move(instance, podset) or not _admitted(instance, podset)
            (stay if fixed else go)[podset.job] += pods
    if instance.on(Rule.LIMITS):
        for j, pods in go.items():
            most = instance.jobs[j].most_moves
            stay[j] += 0 if most is None else max(0, pods - most)
    return max(stay.total(), sum(there.values()) - left)


def _admitted(instance: Instance, podset: PodSet) -> bool:
    """Whether any node that is not to be emptied admits the pods."""
    return not instance.on(Rule.ELIGIBILITY) or not podset.allowed <= instance.drained
