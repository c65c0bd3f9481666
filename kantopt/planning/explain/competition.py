"""Other jobs wait as well: does one that fits alone also get its place beside them?"""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.planning.explain.words import counted
from kantopt.planning.question import Question
from kantopt.problem.focus import is_placed, pending_podsets
from kantopt.schema.model import Model
from kantopt.search.construct import construct
from kantopt.search.explain.decide import is_small
from kantopt.search.strategy import Strategy


def competition(question: Question, model: Model, name: str, deadline: Deadline) -> str:
    """Say so if a job that could be placed stays pending in a quick plan for all that waits.

    Jobs of lower priority are left aside: they are placed after it.

    Returns nothing if it is placed there too, or nothing else is pending.
    """
    instance = question.instance(model)
    j = instance.job_index[name]
    others = [
        job for job in instance.jobs if job.index != j and pending_podsets(instance, job.index)
    ]
    if not others:
        return ""
    own = instance.jobs[j].priority
    placement = construct(
        instance,
        deadline,
        Strategy.BEST_FIT,
        relocate=is_small(instance),
        least_priority=own,
    )
    if deadline.over() or is_placed(instance, j, placement):
        return ""
    ahead = sum(
        1 for job in others if job.priority >= own and is_placed(instance, job.index, placement)
    )
    return (
        f"planned together with {counted(len(others), 'other pending job')} it stays pending: "
        f"{counted(ahead, 'job')} of priority {own} or more are placed first (kantopt plan)"
    )
