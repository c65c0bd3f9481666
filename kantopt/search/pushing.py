"""Which pods of a job room is made for: all of a gang at once, else one after the other."""

from __future__ import annotations

from collections.abc import Callable

from kantopt.search.gangs import Placer, Want
from kantopt.search.victims import Victims


def push_in(
    placer: Placer,
    victims: Victims,
    j: int,
    whole: Callable[[], bool],
    one: Callable[[Want], bool],
) -> bool:
    """Place a job at the cost of lesser ones; return whether any pod could be placed.

    Parameters
    ----------
    placer, victims
        The state as they see it.
    j
        Index of the job.
    whole
        Makes room for what a gang needs together, and places it.
    one
        Makes room for one pod of a pod set, and places it.
    """
    job = placer.state.instance.jobs[j]
    if not job.may_preempt or not victims.priorities_below(job.priority):
        return False
    if placer.is_gang(j):
        return whole()
    gained = False
    for want in placer.wants(j):
        for _ in range(want.most):
            if not one(want):
                break
            gained = True
    return gained
