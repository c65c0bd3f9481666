"""R8 pod anti-affinity (required form)."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_anti_affinity(step: Step) -> Iterator[Violation]:
    """No pod arrives in a domain where it, or a pod there, asks to be kept apart."""
    instance = step.instance
    for term in instance.anti_affinities:
        involved = sorted({term.owner, *term.others})
        arrived = {
            instance.label_domain(spot.node, term.key)
            for s in involved
            for spot in step.arrivals[s]
        }
        if not arrived - {None}:
            continue
        owners = step.count_by((term.owner,), term.key)
        others = step.count_by(term.others, term.key)
        allowed = 1 if term.owner in term.others else 0
        for domain in sorted(d for d in arrived if d is not None):
            if owners.get(domain, 0) and others.get(domain, 0) > allowed:
                yield Violation(
                    Rule.ANTI_AFFINITY,
                    instance.subject(term.owner),
                    f"{others[domain]} of {allowed} pods it keeps away from in {term.key} {domain}",
                )
