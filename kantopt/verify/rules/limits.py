"""R14 limits."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_limits(step: Step) -> Iterator[Violation]:
    """A plan evicts and moves no more pods than the model's limits."""
    limits = step.instance.model.limits
    running = [s for s in step.changed if step.instance.podsets[s].running]
    evicted = sum(step.evicted(s) for s in running)
    moved = sum(step.moved(s) for s in running)
    if limits.evictions is not None and evicted > limits.evictions:
        yield Violation(Rule.LIMITS, "evictions", f"{evicted} of {limits.evictions} pods")
    if limits.moves is not None and moved > limits.moves:
        yield Violation(Rule.LIMITS, "moves", f"{moved} of {limits.moves} pods")
