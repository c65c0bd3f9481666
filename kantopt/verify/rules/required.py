"""R15 required jobs."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_required(step: Step) -> Iterator[Violation]:
    """Jobs that the model requires are placed: a gang with its minimum, others with all pods."""
    for j in sorted(step.instance.required):
        job = step.instance.jobs[j]
        if not step.satisfied(job):
            placed = sum(step.placed[s] for s in job.podsets)
            yield Violation(
                Rule.REQUIRED, f"job {job.name}", f"{placed} of {job.count} pods placed"
            )
