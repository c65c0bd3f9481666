"""What the ending of a run takes: the order of a plan, who goes for whom, and writing it."""

from __future__ import annotations

from kantopt import shares
from kantopt.problem.difference import difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement

JUDGINGS = 12
"""Times that judging a plan takes, to keep for its order and for writing it."""


def ending_seconds(instance: Instance, found: Placement | None, judging: float) -> float:
    """Estimate the seconds that ordering, naming and writing a plan take.

    Parameters
    ----------
    instance
        The question.
    found
        The plan; without one it is one for all that wait.
    judging
        Seconds that judging a plan of this question takes here and now.
    """
    waiting = [podset for podset in instance.podsets if not podset.running]
    jobs = {podset.job for podset in waiting}
    untangling = 0.0
    if found is None:
        pods = sum(podset.count for podset in waiting)
        leaving = pods if instance.model.limits.evictions != 0 else 0
    else:
        steps = difference(instance, found)
        left = (*steps.evictions, *steps.moves)
        jobs |= {instance.podsets[step.podset].job for step in left}
        leaving = sum(step.pods for step in left)
        pods = leaving + sum(step.pods for step in steps.binds)
        if steps.moves:
            untangling = min(shares.UNTANGLING, shares.UNTANGLING_JUDGINGS * judging)
    naming = min(shares.NAMING_VICTIMS, shares.NAMING_A_VICTIM * leaving)
    ordering = 0.0 if found is None else shares.ORDERING_A_POD * leaving + untangling
    telling = shares.WRITING_PLAN + shares.NAMING_A_JOB * len(instance.jobs)
    writing = shares.WRITING_ACTION * max(0, pods - shares.FEW_ACTIONS)
    writing += shares.WRITING_JOB * max(0, len(jobs) - shares.FEW_ACTIONS)
    return JUDGINGS * judging + naming + ordering + telling + writing
