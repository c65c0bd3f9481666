"""What a spread constraint counts in each domain: R9 and the room of victims ask for the same."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import Spread
from kantopt.verify.rules.spread import spread_domains


def arrives_in(m: Variables, i: int, spread: Spread, domain: str, terms: Terms) -> IntVar:
    """Whether pods of a constraint's owner arrive in a domain (true if they do)."""
    count = m.instance.podsets[spread.owner].count
    return m.positive(("spread", i, domain), weighted(terms), count)


def balance(m: Variables, i: int, spread: Spread) -> tuple[dict[str, Terms], LinearExprT]:
    """What a constraint counts in each domain, and what the emptiest has, at most."""
    domains = spread_domains(m.instance, spread)
    domain_of = {n: domain for domain, nodes in domains.items() for n in nodes}
    counts: dict[str, Terms] = {domain: [] for domain in domains}
    for s in spread.counted:
        for spot, var in m.stay[s].items():
            if spot.node in domain_of:
                counts[domain_of[spot.node]].append((var, 1))
        for n, var in m.arrive[s].items():
            if n in domain_of:
                counts[domain_of[n]].append((var, 1))
    if not domains or len(domains) < spread.min_domains:
        return counts, 0

    def make() -> IntVar:
        least = m.cp.new_int_var(0, m.instance.pods_of(spread.counted), f"least[{i}]")
        for terms in counts.values():
            m.cp.add(least <= weighted(terms))
        return least

    return counts, m.once(("least", i), make)
