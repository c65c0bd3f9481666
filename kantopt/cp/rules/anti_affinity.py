"""R8 pod anti-affinity (required form)."""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import AntiAffinity
from kantopt.verify.step import Step


def pods_by(m: Variables, podsets: Iterable[int], key: str) -> dict[str, tuple[Terms, Terms]]:
    """Pods of some pod sets by the value of a node label: all of them, and those arriving."""
    found: dict[str, tuple[Terms, Terms]] = {}
    for s in podsets:
        for spot, var in m.stay[s].items():
            domain = m.instance.label_domain(spot.node, key)
            if domain is not None:
                found.setdefault(domain, ([], []))[0].append((var, 1))
        for n, var in m.arrive[s].items():
            domain = m.instance.label_domain(n, key)
            if domain is not None:
                found.setdefault(domain, ([], []))[0].append((var, 1))
                found[domain][1].append((var, 1))
    return found


def add_anti_affinity(m: Variables) -> None:
    """No pod arrives in a domain where it, or a pod there, asks to be kept apart.

    Where pods stand together that should not, the rule binds only if more arrive.
    """
    for t, term in enumerate(m.instance.anti_affinities):
        m.about("term", t)
        _add_term(m, t, term)


def _add_term(m: Variables, t: int, term: AntiAffinity) -> None:
    allowed = 1 if term.owner in term.others else 0
    owners = pods_by(m, (term.owner,), term.key)
    others = pods_by(m, term.others, term.key)
    standing = Step(m.instance, m.instance.nowhere, m.instance.current)
    owners_now = standing.count_by((term.owner,), term.key)
    others_now = standing.count_by(term.others, term.key)
    most = m.instance.pods_of(term.others)
    for domain in sorted(owners.keys() & others.keys()):
        arriving = [*owners[domain][1], *others[domain][1]]
        if not arriving:
            continue
        count = m.instance.podsets[term.owner].count
        there = m.positive(("owner", t, domain), weighted(owners[domain][0]), count)
        apart = m.cp.add(weighted(others[domain][0]) <= allowed)
        if owners_now.get(domain, 0) and others_now.get(domain, 0) > allowed:
            more = m.positive(("more", t, domain), weighted(arriving), count + most)
            apart.only_enforce_if(there, more)
        else:
            apart.only_enforce_if(there)
