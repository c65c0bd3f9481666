"""M18 preferences."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import Even
from kantopt.problem.preferences import WHOLE
from kantopt.problem.tiers import Tier
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


def domains_of(instance: Instance, even: Even) -> dict[str, frozenset[int]]:
    """Nodes by the domain that pods would rather be spread over."""
    found: dict[str, set[int]] = {}
    for n in even.over:
        domain = instance.label_domain(n, even.key)
        if domain is not None:
            found.setdefault(domain, set()).add(n)
    return {domain: frozenset(found[domain]) for domain in sorted(found)}


def _excess(step: Step, even: Even) -> int:
    """Pods that are too many in their domains."""
    domains = domains_of(step.instance, even)
    domain_of = {n: domain for domain, nodes in domains.items() for n in nodes}
    counts = dict.fromkeys(domains, 0)
    for s in even.counted:
        for spot, pods in step.after.podsets[s].items():
            if spot.node in domain_of:
                counts[domain_of[spot.node]] += pods
    emptiest = min(counts.values(), default=0) if len(counts) >= even.min_domains else 0
    return sum(max(0, count - emptiest - even.max_skew) for count in counts.values())


def bound_preferences(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: arithmetic does not say whose wishes cannot be met."""
    return 0
