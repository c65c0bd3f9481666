"""R4 gang."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_gang(step: Step) -> Iterator[Violation]:
    """A gang gains or loses pods only so that at least its minimum run, or none.

    No role loses running pods and gains pending ones at once: that would be a move in disguise.
    """
    for job in step.changed_jobs:
        if job.is_gang and any(step.evicted(s) or step.bound(s) for s in job.podsets):
            counts = {role.name: step.role_placed(role) for role in job.roles}
            total = sum(counts.values())
            if total and total < job.min_count:
                yield Violation(
                    Rule.GANG, f"job {job.name}", f"{total} of at least {job.min_count} pods"
                )
            for role in job.roles:
                if total and counts[role.name] < role.min_count:
                    yield Violation(
                        Rule.GANG,
                        f"job {job.name} pod set {role.name}",
                        f"{counts[role.name]} of at least {role.min_count} pods",
                    )
        for role in job.roles:
            if (
                role.running is not None
                and role.pending is not None
                and step.after.placed(role.running) < step.instance.podsets[role.running].count
                and step.after.placed(role.pending) > 0
            ):
                yield Violation(
                    Rule.GANG,
                    f"job {job.name} pod set {role.name}",
                    f"{step.after.placed(role.pending)} pods bound while others are evicted, "
                    "0 allowed",
                )
