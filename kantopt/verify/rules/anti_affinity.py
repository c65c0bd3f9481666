"""R8 pod anti-affinity (required form)."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_anti_affinity(step: Step) -> Iterator[Violation]:
    """No pod arrives in a domain where it, or a pod there, asks to be kept apart."""
    instance = step.instance
    for term in instance.anti_affinities:
        owners = step.count_by((term.owner,), term.key)
        others = step.count_by(term.others, term.key)
        allowed = 1 if term.owner in term.others else 0
        close = [d for d, pods in owners.items() if pods and others.get(d, 0) > allowed]
        if not close:  # of thousands of terms that look at the same pods hardly any comes further
            continue
        arrived = {
            instance.label_domain(spot.node, term.key)
            for s in {term.owner, *term.others}
            for spot in step.arrivals[s]
        }
        for domain in sorted(close):
            if domain in arrived:
                yield Violation(
                    Rule.ANTI_AFFINITY,
                    instance.subject(term.owner),
                    f"{others[domain]} of {allowed} pods it keeps away from in {term.key} {domain}",
                )
