"""R6 slices."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.rules.topology import (
    arrives_outside,
    changed_needs,
    domains_used,
    need_subject,
)
from kantopt.verify.step import Step, Violation


def check_slices(step: Step) -> Iterator[Violation]:
    """Each domain of the slice level holds whole slices of pods."""
    instance = step.instance
    for need, depth in changed_needs(step, lambda need: need.slice_level):
        yield from arrives_outside(step, need, depth, Rule.SLICES)
        level = instance.topology.levels[depth]
        before = domains_used(instance, need, depth, step.before.podsets)
        after = domains_used(instance, need, depth, step.after.podsets)
        for domain in sorted({*before, *after} - {None}, key=lambda d: d or 0):
            pods = after.get(domain, 0)
            if domain is not None and pods % need.slice_size and pods != before.get(domain, 0):
                name = instance.topology.domains[depth][domain]
                message = f"{pods} pods in {level} {name}, slices of {need.slice_size}"
                yield Violation(Rule.SLICES, need_subject(instance, need), message)
