"""M18 preferences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import Even, Wish
from kantopt.problem.preferences import WHOLE
from kantopt.problem.tiers import Tier
from kantopt.verify.rules.spread import spread_domains


def preferences_expr(m: Variables, tier: Tier) -> LinearExprT:
    """What pods lose by being where they would rather not be; at least that."""
    terms: Terms = []
    for podset in m.instance.podsets:
        for n, var in _places(m, podset.index) if podset.losses else ():
            if n in podset.losses:
                terms.append((var, podset.losses[n]))
    for w, wish in enumerate(m.instance.wishes):
        terms += [(lost, wish.weight) for lost in _wished(m, w, wish)]
    for e, even in enumerate(m.instance.evens):
        terms += [(excess, WHOLE) for excess in _excess(m, e, even)]
    return weighted(terms)


def _places(m: Variables, s: int) -> Iterable[tuple[int, IntVar]]:
    return [*((spot.node, var) for spot, var in m.stay[s].items()), *m.arrive[s].items()]


def _by_domain(
    m: Variables, podsets: Iterable[int], domain_of: Mapping[int, str]
) -> dict[str, Terms]:
    found: dict[str, Terms] = {}
    for s in podsets:
        for n, var in _places(m, s):
            if n in domain_of:
                found.setdefault(domain_of[n], []).append((var, 1))
    return found


def _wished(m: Variables, w: int, wish: Wish) -> Iterable[LinearExprT]:
    """Pods of the owner that are in wrong company, domain by domain."""
    domain_of = {
        node.index: domain
        for node in m.instance.nodes
        if (domain := m.instance.label_domain(node.index, wish.key)) is not None
    }
    most = m.instance.podsets[wish.owner].count
    crowd = m.instance.pods_of(wish.others)
    own = 1 if wish.owner in wish.others else 0
    others = _by_domain(m, wish.others, domain_of)
    for domain, pods in sorted(_by_domain(m, (wish.owner,), domain_of).items()):
        near = m.cp.new_bool_var(f"near[{w},{domain}]")
        company = weighted(others.get(domain, []))
        lost = m.cp.new_int_var(0, most, f"unwished[{w},{domain}]")
        if wish.apart:
            m.cp.add(company <= own + crowd * near)
            m.cp.add(lost + most * (1 - near) >= weighted(pods))
        else:
            m.cp.add(company >= (own + 1) * near)
            m.cp.add(lost + most * near >= weighted(pods))
        yield lost
    if not wish.apart:
        yield from (var for n, var in _places(m, wish.owner) if n not in domain_of)


def _excess(m: Variables, e: int, even: Even) -> Iterable[LinearExprT]:
    """Pods that are too many, domain by domain."""
    domains = spread_domains(m.instance, even)
    domain_of = {n: domain for domain, nodes in domains.items() for n in nodes}
    counts = _by_domain(m, even.counted, domain_of)
    most = m.instance.pods_of(even.counted)
    emptiest = m.cp.new_int_var(0, most, f"emptiest[{e}]")
    if len(domains) < even.min_domains:
        m.cp.add(emptiest == 0)
    for domain in domains:
        count = weighted(counts.get(domain, []))
        excess = m.cp.new_int_var(0, most, f"uneven[{e},{domain}]")
        m.cp.add(emptiest <= count)
        m.cp.add(excess + emptiest + even.max_skew >= count)
        yield excess
