"""Bounds by what domains could hold, at good prices and at others: to hold against brute force."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from kantopt.cp.masters.domain_prices import domain_prices_of, views_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.witness.domains import DomainRows, domain_rows, valued
from kantopt.verify.witness.regions import NODES, View


def all_views(instance: Instance) -> Iterator[View]:
    """Every level and every measure of room."""
    for level in (*instance.topology.levels, NODES):
        for r, resource in enumerate(instance.resources):
            largest = max(podset.requests[r] for podset in instance.podsets)
            for step in {largest, -(-largest // 2)} - {0}:
                yield View(level, resource, step)


def some_multipliers(domains: DomainRows, rng: random.Random) -> dict[str, int]:
    """Multipliers in eighths; regions in use count no more often than their tier does."""
    found = {x: rng.choice((0, 8, rng.randint(0, 20))) for x in sorted(domains.rows.names)}
    found |= {x: rng.choice((0, 0, 8, 16)) for x in sorted(domains.limits)}
    for lot, spreads in domains.lots.items():
        most = found[f"tier {lot}"] if f"tier {lot}" in domains.limits else 8
        for spread in spreads:
            left = most
            for i in spread.groups:
                found[domains.row_of(lot, i)] = rng.randint(0, left)
                left -= found[domains.row_of(lot, i)]
    return found


def bounds_by_domains(
    instance: Instance,
    tiers: tuple[Tier, ...],
    i: int,
    locks: Mapping[Tier, int],
    rng: random.Random,
    target: int,
) -> Iterator[int]:
    """Yield bounds of a tier by good multipliers and by others, for every view."""
    good = set(views_of(instance, tiers, i))
    for view in dict.fromkeys((*all_views(instance), *good)):
        try:
            domains = domain_rows(instance, tiers, i, locks, view)
        except ValueError:
            continue
        for _ in range(2):
            found = valued(domains, 8, some_multipliers(domains, rng), lambda: False)
            assert found is not None
            yield found.bound
        if view in good:
            prices = domain_prices_of(domains, target, lambda: False)
            assert prices is not None
            proved = valued(domains, *prices, lambda: False)
            assert proved is not None
            yield proved.bound
