"""R13 gang victims."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_gang_victims(step: Step) -> Iterator[Violation]:
    """A job with disruptionMode all is evicted as a whole or not at all."""
    for job in step.changed_jobs:
        if job.all_victims and any(step.evicted(s) for s in job.podsets):
            left = sum(step.placed[s] for s in job.podsets)
            if left:
                yield Violation(
                    Rule.GANG_VICTIMS, f"job {job.name}", f"{left} of 0 pods left after an eviction"
                )
