"""R6 slices."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.rules.topology import arrives_outside, domains_used, need_subject
from kantopt.verify.step import Step, Violation


def check_slices(step: Step) -> Iterator[Violation]:
    """Each domain of the slice level holds whole slices of pods."""
    instance = step.instance
    changed = {job.index for job in step.changed_jobs}
    for need in instance.topology_needs:
        if need.slice_level is None or need.job not in changed:
            continue
        subject = need_subject(instance, need)
        level = instance.topology.levels[need.slice_level]
        for node in arrives_outside(step, need, need.slice_level):
            yield Violation(Rule.SLICES, subject, f"node {node} is in no {level}")
        before = domains_used(instance, need, need.slice_level, step.before)
        after = domains_used(instance, need, need.slice_level, step.after)
        for domain in sorted({*before, *after} - {None}, key=lambda d: d or 0):
            pods = after.get(domain, 0)
            if domain is not None and pods % need.slice_size and pods != before.get(domain, 0):
                name = instance.topology.domains[need.slice_level][domain]
                yield Violation(
                    Rule.SLICES,
                    subject,
                    f"{pods} pods in {level} {name}, slices of {need.slice_size}",
                )
