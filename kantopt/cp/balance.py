"""Pods by domain of a label: R8, R9 and the room of victims ask for the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.cluster import Spot
from kantopt.problem.job import Spread
from kantopt.verify.rules.spread import spread_domains


def by_domain(
    m: Variables,
    podsets: Iterable[int],
    domain_of: Callable[[int], str | None],
    *,
    comes: Callable[[int], bool] = lambda _: True,
    standing: bool = True,
    stays: Callable[[int, Spot], LinearExprT] | None = None,
) -> dict[str, Terms]:
    """Pods of some pod sets by the domain of their node; those in no domain are left out.

    Parameters
    ----------
    comes
        Whether arriving pods of a pod set count.
    standing
        Whether those count that run.
    stays
        What counts of a pod set that runs on a spot; by default what stays there.
    """
    found: dict[str, Terms] = {}
    for s in podsets:
        for spot, var in m.stay[s].items() if standing else ():
            if (domain := domain_of(spot.node)) is not None:
                found.setdefault(domain, []).append((stays(s, spot) if stays else var, 1))
        for n, var in m.arrive[s].items() if comes(s) else ():
            if (domain := domain_of(n)) is not None:
                found.setdefault(domain, []).append((var, 1))
    return found


def arrives_in(m: Variables, i: int, spread: Spread, domain: str, terms: Terms) -> IntVar:
    """Whether pods of a constraint's owner arrive in a domain (true if they do)."""
    count = m.instance.podsets[spread.owner].count
    return m.positive(("spread", i, domain), weighted(terms), count)


def balance(m: Variables, i: int, spread: Spread) -> tuple[dict[str, Terms], LinearExprT]:
    """What a constraint counts in each domain, and what the emptiest has, at most."""
    domains = spread_domains(m.instance, spread)
    domain_of = {n: domain for domain, nodes in domains.items() for n in nodes}
    counts: dict[str, Terms] = {domain: [] for domain in domains}
    counts |= by_domain(m, spread.counted, domain_of.get)
    if not domains or len(domains) < spread.min_domains:
        return counts, 0

    def make() -> IntVar:
        least = m.cp.new_int_var(0, m.instance.pods_of(spread.counted), f"least[{i}]")
        for terms in counts.values():
            m.cp.add(least <= weighted(terms))
        return least

    return counts, m.once(("least", i), make)
