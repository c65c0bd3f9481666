"""Nobody is evicted for the good of those who may evict nobody: asked of the optimum itself."""

from __future__ import annotations

import random
from collections import Counter
from math import prod

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model, Objective
from kantopt.verify.step import Step
from tests.generate import random_documents
from tests.oracle import best, job_options

MOST_PLACEMENTS = 30_000
OBJECTIVES = tuple(
    Objective.model_validate(each)
    for each in (
        {"unplaced": {"unit": "pod"}},
        "evictions",
        {"evictions": {"by": "all", "unit": "pod"}},
        "moves",
    )
)


def evictions(instance: Instance, placement: Placement) -> Counter[int]:
    """Pods that a placement evicts, by the priority of the victim."""
    step = Step(instance, instance.current, placement)
    return +Counter(
        {
            priority: sum(
                step.evicted(podset.index)
                for podset in instance.podsets
                if podset.running and instance.job_of(podset.index).priority == priority
            )
            for priority in instance.priorities
        }
    )


def with_a_harmless_job(seed: int) -> tuple[Instance, Instance] | None:
    """Draw a tiny question, and the same with one job more that may evict nobody.

    It is no more important than anybody who runs; or it never preempts, and is as important as
    somebody who might, or less important than all of them. ``None`` if nobody might evict anybody,
    or there is too much to try.
    """
    snapshot, jobs, model = random_documents(seed)
    model = _strict(model)
    instance = build_instance(snapshot, jobs.jobs, model)
    waiting = {podset.job for podset in instance.podsets if not podset.running}
    preempting = [instance.jobs[j].priority for j in waiting if instance.jobs[j].may_preempt]
    running = [instance.job_of(p.index).priority for p in instance.podsets if p.running]
    if not running or not any(p > min(running) for p in preempting):
        return None
    rng = random.Random(seed)
    able = sorted({p for p in preempting if p > min(running)})
    less = {"preemption_policy": "Never", "priority": able[0] - rng.randint(1, 2)}
    low = {"preemption_policy": None, "priority": min(running)}
    equal = {"preemption_policy": "Never", "priority": rng.choice(able)}
    more = _harmless(rng.choice(jobs.jobs), rng.choice((less, low, equal, equal)))
    other = build_instance(snapshot, (*jobs.jobs, more), model)
    if prod(len(job_options(other, job)) for job in other.jobs) > MOST_PLACEMENTS:
        return None
    return instance, other


def _strict(model: Model) -> Model:
    rules = model.rules.model_copy(update={"priority": "strict"})
    return model.model_copy(update={"rules": rules, "objectives": OBJECTIVES, "required": ()})


def _harmless(job: Job, update: dict[str, object]) -> Job:
    named = {"name": "harmless", "priority_class_name": None}
    return job.model_copy(update={**named, **update})


def changed_evictions(seed: int) -> tuple[bool, str] | None:
    """Whether the optimum evicts, and what one harmless job more changes about it, if anything.

    ``None`` if the seed draws no such question, or one that has no legal placement.
    """
    pair = with_a_harmless_job(seed)
    if pair is None:
        return None
    found = []
    for instance in pair:
        _, placement = best(instance)
        if placement is None:
            return None
        found.append(evictions(instance, placement))
    before, after = found
    change = "" if before == after else f"seed {seed}: {dict(before)} became {dict(after)}"
    return bool(before), change
