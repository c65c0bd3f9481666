"""R8 pod anti-affinity (required form)."""

from __future__ import annotations

from functools import partial

from kantopt.cp.balance import by_domain
from kantopt.cp.variables import Variables, weighted
from kantopt.problem.job import AntiAffinity
from kantopt.verify.step import Step


def add_anti_affinity(m: Variables) -> None:
    """No pod arrives in a domain where it, or a pod there, asks to be kept apart.

    Where pods stand together that should not, the rule binds only if more arrive.
    """
    for t, term in enumerate(m.instance.anti_affinities):
        m.about("term", t)
        _add_term(m, t, term)


def _add_term(m: Variables, t: int, term: AntiAffinity) -> None:
    allowed = 1 if term.owner in term.others else 0
    domain_of = partial(m.instance.label_domain, key=term.key)
    owners, others = (by_domain(m, s, domain_of) for s in ((term.owner,), term.others))
    came = by_domain(m, (term.owner, *term.others), domain_of, standing=False)
    standing = Step(m.instance, m.instance.nowhere, m.instance.current)
    owners_now = standing.count_by((term.owner,), term.key)
    others_now = standing.count_by(term.others, term.key)
    most = m.instance.pods_of(term.others)
    for domain in sorted(owners.keys() & others.keys()):
        arriving = came.get(domain)
        if not arriving:
            continue
        count = m.instance.podsets[term.owner].count
        there = m.positive(("owner", t, domain), weighted(owners[domain]), count)
        apart = m.cp.add(weighted(others[domain]) <= allowed)
        if owners_now.get(domain, 0) and others_now.get(domain, 0) > allowed:
            more = m.positive(("more", t, domain), weighted(arriving), count + most)
            apart.only_enforce_if(there, more)
        else:
            apart.only_enforce_if(there)
