"""Victims where a job can only be stopped as a whole: all of its pods, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kantopt.render.steps import Document, Step, left
from kantopt.schema.jobs import Job
from kantopt.schema.plan import Eviction


def stopped(
    job: Job | None,
    victims: Sequence[tuple[int, Eviction]],
    what: str,
    why_not: str,
    document: Callable[[int], Document],
) -> list[Step]:
    """Stop a job by one document, if the plan evicts all of its running pods.

    Parameters
    ----------
    job
        The job as it runs before the plan.
    victims
        What the plan evicts of it, with waves, in their order.
    what
        What the target calls the job.
    why_not
        Why it cannot be stopped; empty if it can.
    document
        Made for a wave: it stops the job.
    """
    pods = sum(item.count for _, item in victims)
    running = 0 if job is None else job.running
    if not why_not and pods < running:
        why_not = f"{what} can only be stopped as a whole, {running} pods"
    if why_not:
        return [left(item, wave, why_not) for wave, item in victims]
    waves = sorted({wave for wave, _ in victims})
    first = victims[0][1].job
    said = f"{what}: stops {first}, {pods} pods"
    if waves[1:]:
        said += f"; the plan lets some of them go in later waves ({', '.join(map(str, waves[1:]))})"
    # Who comes instead of a part of them may come instead of any.
    heirs = {item.for_job for _, item in victims}
    heir = heirs.pop() if len(heirs) == 1 else None
    return [Step(waves[0], "evictions", first, pods, (document(waves[0]),), said, heir)]
