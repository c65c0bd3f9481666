"""Other jobs wait as well: has one its place beside them if it has one alone, and only then?"""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.planning.explain.words import counted
from kantopt.planning.question import Question
from kantopt.problem.focus import is_placed, pending_podsets
from kantopt.schema.model import Model
from kantopt.search.construct import construct
from kantopt.search.explain.decide import is_small
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check


def competition(
    question: Question, model: Model, name: str, deadline: Deadline, *, fits: bool
) -> str:
    """Say so if a quick plan for all that waits does otherwise with a job than one for it alone.

    Jobs of lower priority are left aside: they are placed after it.

    Parameters
    ----------
    fits
        Whether the job can be placed alone.

    Returns
    -------
    str
        Nothing if the plan does the same, or nothing else is pending.
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
    if deadline.over() or is_placed(instance, j, placement) is fits:
        return ""
    together = f"planned together with {counted(len(others), 'other pending job')}"
    if not fits:
        if check(instance, placement):
            return ""
        return f"{together} it is placed, for what they change (kantopt plan --require {name})"
    ahead = sum(
        1 for job in others if job.priority >= own and is_placed(instance, job.index, placement)
    )
    return (
        f"{together} it stays pending: "
        f"{counted(ahead, 'job')} of priority {own} or more are placed first (kantopt plan)"
    )
