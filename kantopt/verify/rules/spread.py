"""R9 topology spread (required form)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from math import inf

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Even, Spread
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation, by_label


def spread_domains(instance: Instance, spread: Spread | Even) -> Mapping[str, tuple[int, ...]]:
    """Nodes that a spread constraint, or a wish, looks at by domain; many look at the same ones."""
    return _domains(instance, spread.key, spread.over)


@lru_cache(maxsize=16)
def _domains(instance: Instance, key: str, over: frozenset[int]) -> dict[str, tuple[int, ...]]:
    domains: dict[str, list[int]] = {}
    for n in sorted(over):
        domain = instance.label_domain(n, key)
        if domain is not None:
            domains.setdefault(domain, []).append(n)
    return {domain: tuple(nodes) for domain, nodes in sorted(domains.items())}


def spread_counts(
    instance: Instance, placement: Placement, spread: Spread | Even
) -> dict[str, int]:
    """Pods that a constraint counts in each domain; many constraints count the same."""
    counts = dict.fromkeys(spread_domains(instance, spread), 0)
    counts.update(by_label(instance, placement, spread.counted, spread.key, spread.over))
    return counts


def emptiest(counts: Mapping[str, int], spread: Spread | Even) -> int:
    """Pods of the emptiest domain; 0 where there are too few domains."""
    return min(counts.values(), default=0) if len(counts) >= spread.min_domains else 0


def check_spread(step: Step, *, one_by_one: bool = False) -> Iterator[Violation]:
    """Where pods arrive, their domain exceeds the emptiest eligible one by at most maxSkew.

    ``one_by_one``: in whatever order they arrived. Then those that the constraint counts and none
    as strict binds may have come to the domain last.
    """
    instance = step.instance
    known: dict[Hashable, dict[str, int]] = {}
    # The most pods that a constraint lets a domain hold, by who it binds and what it looks at.
    most: dict[Hashable, dict[int, int]] = {}
    for spread in instance.spreads:
        if not step.arrivals[spread.owner]:
            continue
        if (among := _among(spread)) not in known:
            known[among] = spread_counts(instance, step.after, spread)
        limit = spread.max_skew + emptiest(known[among], spread)
        bound = most.setdefault(among, {})
        bound[spread.owner] = min(limit, bound.get(spread.owner, limit))
    for spread in instance.spreads:
        arrivals = step.arrivals[spread.owner]
        if not arrivals:
            continue
        subject = instance.subject(spread.owner)
        counts, bound = known[_among(spread)], most[_among(spread)]
        least = emptiest(counts, spread)
        last = Counter[str | None]()
        for s in spread.counted if one_by_one else ():
            if bound.get(s, inf) <= spread.max_skew + least:
                continue
            for spot, pods in step.arrivals[s].items():
                if spot.node in spread.over:
                    last[instance.label_domain(spot.node, spread.key)] += pods
        arrived = {instance.label_domain(x.node, spread.key) for x in arrivals}
        if None in arrived:
            yield Violation(Rule.SPREAD, subject, f"a node without label {spread.key}")
        for domain in sorted(domain for domain in arrived if domain is not None):
            here = counts.get(domain, 0) - last[domain]
            if here - min(here, least) > spread.max_skew:
                skew = here - least
                yield Violation(
                    Rule.SPREAD,
                    subject,
                    f"skew {skew} of {spread.max_skew} in {spread.key}={domain}",
                )


def _among(spread: Spread) -> Hashable:
    return spread.key, spread.counted, spread.over


def out_of_balance(
    step: Step, there: Mapping[tuple[int, Spot], int], unit: Mapping[tuple[int, Spot], int]
) -> bool:
    """Whether victims put back break a constraint of pods that arrived and may evict them (R10).

    Parameters
    ----------
    there
        Pods beside which they are put back, of those that constraints count.
    unit
        Pods of one job that are put back.
    """
    instance = step.instance
    victim = instance.podsets[next(iter(unit))[0]].job
    for spread in step.spreading:
        if not instance.may_evict_for(instance.podsets[spread.owner].job, victim):
            continue
        back = _by_domain(instance, spread, unit)
        arrived = {instance.label_domain(x.node, spread.key) for x in step.arrivals[spread.owner]}
        if not (pressed := arrived.intersection(back).difference((None,))):
            continue
        counts = _by_domain(instance, spread, there)
        counts.update(back)
        least = emptiest(
            {domain: counts[domain] for domain in spread_domains(instance, spread)}, spread
        )
        if any(counts[domain] - least > spread.max_skew for domain in pressed):
            return True
    return False


def _by_domain(
    instance: Instance, spread: Spread, pods: Mapping[tuple[int, Spot], int]
) -> Counter[str | None]:
    found, counted = Counter[str | None](), set(spread.counted)
    for (s, spot), k in pods.items():
        if s in counted and spot.node in spread.over:
            found[instance.label_domain(spot.node, spread.key)] += k
    return found


def check_kept_spread(
    step: Step, kept: Placement, entitled: Callable[[int], bool]
) -> Iterator[Violation]:
    """Arrivals keep their constraints as if victims that they may not evict were back (R10).

    Parameters
    ----------
    kept
        The placement with victims back, and without those who may evict them.
    entitled
        Whether a job may evict them. Where those lift the emptiest domain they are there.
    """
    instance = step.instance
    for spread in step.spreading:
        owner = instance.podsets[spread.owner]
        if entitled(owner.job):
            continue
        least = emptiest(spread_counts(instance, step.after, spread), spread)
        back = spread_counts(instance, kept, spread)
        arrived = {instance.label_domain(x.node, spread.key) for x in step.arrivals[spread.owner]}
        for domain in sorted(domain for domain in arrived if domain is not None):
            if (skew := back.get(domain, 0) - least) > spread.max_skew:
                text = f"skew {skew} of {spread.max_skew} in {spread.key}={domain}"
                yield Violation(Rule.SPREAD, instance.subject(spread.owner), text)
