"""What a plan leaves pending, and what waits besides and is not asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kantopt.planning.question import Question
from kantopt.problem.chosen import asked_for, is_named
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.problem.priority_classes import PriorityClasses
from kantopt.schema.answers.left import HeldBack, LeftAside
from kantopt.schema.answers.plan import Unplaced
from kantopt.schema.model import Model

Why = Callable[[int], tuple[str, str]]
"""Tells of a job, by its index, what stands in its way: a rule, and a message."""


def left_pending(instance: Instance, placement: Placement, why: Why) -> tuple[Unplaced, ...]:
    """List the jobs of which pending pods are not bound, each with the reason."""
    found = []
    for job, left, wanted in jobs_short(instance, placement):
        rule, message = why(job.index)
        found.append(
            Unplaced(
                job=job.name,
                priority=job.priority,
                pods=left,
                wanted=wanted,
                rule=rule,
                message=message,
            )
        )
    return tuple(found)


def jobs_short(instance: Instance, placement: Placement) -> Iterator[tuple[Job, int, int]]:
    """Yield the jobs of which pending pods are not bound, with how many of how many.

    Of a placement that is not legal more may be bound than there are.
    """
    for job in instance.jobs:
        pending = [instance.podsets[s] for s in instance.pending_of(job.index)]
        wanted = sum(podset.count for podset in pending)
        left = wanted - sum(placement.placed(podset.index) for podset in pending)
        if left:
            yield job, left, wanted


def no_less_important(question: Question, instance: Instance) -> LeftAside | None:
    """Count the jobs left aside that are no less important than one that is asked about."""
    asked = {podset.job for podset in instance.podsets if not podset.running}
    least = min((instance.jobs[j].priority for j in asked), default=None)
    if least is None:
        return None
    return left_aside_from(question, instance.model, least)


def left_aside_from(question: Question, model: Model, least: int) -> LeftAside | None:
    """Count the jobs left aside that have some priority at least."""
    pods = [count for priority, count in _others(question, model) if priority >= least]
    return LeftAside(jobs=len(pods), pods=sum(pods)) if pods else None


def held_back(question: Question, model: Model) -> HeldBack | None:
    """Count what may not start yet of the jobs that a model asks about."""
    wanted = model.pending
    held = question.held_back.items()
    pods = [count for job, count in held if wanted is None or is_named(job, wanted)]
    return HeldBack(jobs=len(pods), pods=sum(pods)) if pods else None


def _others(question: Question, model: Model) -> Iterator[tuple[int, int]]:
    """Priority of each job that is not asked about, and its pods that wait."""
    yield from question.aside
    patterns, classes = model.pending, PriorityClasses(question.snapshot)
    for job in () if patterns is None else question.jobs:
        count = job.waiting
        if count and not asked_for(job, patterns):
            yield classes.priority(job), count
