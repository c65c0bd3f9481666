"""The question about one job alone: may it be placed, and what may be done for it?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.placement import Placement
from kantopt.schema.model import Limits, Model, Objective, Rule, Rules

_OBJECTIVES = (
    "evictions",
    "moves",
    # Of as many, those that lose the least work, that need the least room elsewhere, as a plan for
    # all that waits has it, and of these the least important.
    "lost_gpu_seconds",
    "displaced",
    {"moves": {"by": "priority"}},
    # What the job has room for beyond its minimum, at no further cost.
    "unplaced",
    "domains_crossed",
)


def focused(instance: Instance, j: int) -> Instance:
    """Return the question whether one job can be placed: it must be, other pending pods may not.

    Pods are evicted only by the strict rule on priority, and as few as possible; then as few as
    possible are moved, those that lose the least work, displace the fewest GPUs and are the least
    important. Pods and jobs keep their numbers, so that a placement of this question is one of the
    whole. A job that runs with its minimum and waits for more is asked to get them all.
    """
    model = instance.model
    rules = model.rules.model_copy(update={"priority": "strict"})
    job = instance.jobs[j]
    more = sum(role.count for role in job.roles) > job.min_count > 0
    objectives = tuple(
        Objective.model_validate(each) for each in _OBJECTIVES if more or each != "unplaced"
    )
    asked = model.model_copy(update={"rules": rules, "objectives": objectives, "required": ()})
    jobs = list(instance.jobs)
    jobs[j] = _whole(jobs[j]) if runs_enough(instance, jobs[j]) else jobs[j]
    podsets = tuple(
        podset if podset.running or podset.job == j else replace(podset, allowed=frozenset())
        for podset in instance.podsets
    )
    return replace(
        instance, jobs=tuple(jobs), podsets=podsets, required=frozenset((j,)), model=asked
    )


def runs_enough(instance: Instance, job: Job) -> bool:
    """Whether what runs of a gang is its minimum at least."""
    counts = instance.running_roles(job)
    return job.is_gang and any(counts) and job.placed_with(counts)


def running_pods(instance: Instance, podsets: Iterable[int]) -> int:
    """Pods of some pod sets that run now."""
    return sum(instance.podsets[s].count for s in podsets if instance.podsets[s].running)


def _whole(job: Job) -> Job:
    """Return the job with all of its pods as its minimum."""
    roles = tuple(replace(role, min_count=role.count) for role in job.roles)
    return replace(job, roles=roles)


def limited(
    question: Instance, *, evictions: int | None = None, moves: int | None = None
) -> Instance:
    """Return the question with limits of evictions and moves that are no higher than given."""
    limits = question.model.limits
    tighter = limits.model_copy(
        update={
            "evictions": _least(limits.evictions, evictions),
            "moves": _least(limits.moves, moves),
        }
    )
    return with_model(question, limits=tighter)


def with_model(question: Instance, **changes: object) -> Instance:
    """Return the question under a model in which some fields differ."""
    model: Model = question.model.model_copy(update=changes)
    return replace(question, model=model)


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def pending_podsets(instance: Instance, j: int) -> tuple[PodSet, ...]:
    """Pod sets of a job of which pods are pending."""
    return tuple(instance.podsets[s] for s in instance.pending_of(j))


def wanted_pods(question: Instance, j: int) -> dict[int, int]:
    """Pending pods by pod set that must be placed at once; of a gang its minimum.

    Pods that a gang wants of any of its roles are asked of the roles in their order.
    """
    job = question.jobs[j]
    wanted: dict[int, int] = {}
    placed = 0
    for role in job.roles:
        running = running_pods(question, role.podsets)
        least = role.min_count if job.is_gang else role.count
        placed += max(running, least)
        if role.pending is not None:
            wanted[role.pending] = max(0, least - running)
    short = job.min_count - placed
    for role in job.roles:
        if role.pending is not None and short > 0:
            more = min(short, question.podsets[role.pending].count - wanted[role.pending])
            wanted[role.pending] += more
            short -= more
    return {s: pods for s, pods in wanted.items() if pods}


def is_placed(question: Instance, j: int, placement: Placement) -> bool:
    """Whether a job is placed: a gang with its minimum, any other job with all its pods."""
    job = question.jobs[j]
    counts = [sum(placement.placed(s) for s in role.podsets) for role in job.roles]
    return job.placed_with(counts) and sum(counts) > question.running_pods(j)


def under(question: Instance, j: int, rules: Collection[Rule]) -> Instance:
    """Return the question about a job with only some rules on; without its gang, about one pod."""
    model = question.model
    off: dict[str, str] = {
        rule.value: "off" for rule in Rule if rule not in rules and rule.value in Rules.model_fields
    }
    changed = with_model(
        question,
        rules=model.rules.model_copy(update=off),
        limits=model.limits if Rule.LIMITS in rules else Limits(),
    )
    jobs = list(question.jobs)
    if Rule.LIMITS not in rules:
        jobs = [replace(job, max_moves=None, most_moves=None) for job in jobs]
    if Rule.GANG not in rules and Rule.REQUIRED not in rules:
        job = jobs[j]
        roles = tuple(replace(role, min_count=0) for role in job.roles)
        least = running_pods(question, job.podsets) + 1
        jobs[j] = replace(job, roles=roles, min_count=least)
    return replace(changed, jobs=tuple(jobs))
