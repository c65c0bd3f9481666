"""M18 preferences."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import Even
from kantopt.problem.preferences import WHOLE
from kantopt.problem.tiers import Tier
from kantopt.verify.rules.spread import emptiest, spread_counts
from kantopt.verify.step import Step


def measure_preferences(tier: Tier, step: Step) -> int:
    """What pods lose by being where they would rather not be, at most 100 a pod and kind."""
    lost = 0
    for podset, spots in zip(step.instance.podsets, step.after.podsets, strict=True):
        if podset.losses:
            lost += sum(pods * podset.losses.get(spot.node, 0) for spot, pods in spots.items())
    for wish in step.instance.wishes:
        company = step.count_by(wish.others, wish.key)
        own = 1 if wish.owner in wish.others else 0
        for spot, pods in step.after.podsets[wish.owner].items():
            domain = step.instance.label_domain(spot.node, wish.key)
            near = domain is not None and company.get(domain, 0) > own
            lost += wish.weight * pods if near is wish.apart else 0
    return lost + WHOLE * sum(_excess(step, even) for even in step.instance.evens)


def _excess(step: Step, even: Even) -> int:
    """Pods that are too many in their domains."""
    counts = spread_counts(step.instance, step.after, even)
    allowed = emptiest(counts, even) + even.max_skew
    return sum(max(0, count - allowed) for count in counts.values())


def bound_preferences(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: arithmetic does not say whose wishes cannot be met."""
    return 0
