"""R11 pinned pods."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_pinned(step: Step) -> Iterator[Violation]:
    """Pods that are not preemptible are not evicted, pods that are not movable are not moved."""
    for podset in (step.instance.podsets[s] for s in step.changed):
        if not podset.running:
            continue
        subject = f"job {step.instance.jobs[podset.job].name} pod set {podset.name}"
        if not podset.preemptible and step.evicted(podset.index):
            yield Violation(Rule.PINNED, subject, f"{step.evicted(podset.index)} of 0 pods evicted")
        if not podset.movable and step.moved(podset.index):
            yield Violation(Rule.PINNED, subject, f"{step.moved(podset.index)} of 0 pods moved")
