"""Constructed plans offered to the incumbent, and what of who is placed is open in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.problem.tiers import DISTURBING, OF_WHO_IS_PLACED, Tier
from kantopt.schema.model import Metric
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.homecoming import sent_home
from kantopt.search.schedule import RELOCATION


def offer_constructed(
    best: Incumbent, deadline: Deadline, how: How, *, home: bool = False, by: str = ""
) -> bool:
    """Construct as the model and the techniques that may be used have it; say if that is better.

    ``home``: who moved in vain returns; ``by`` whom, if not by the strategy.
    """
    relocate = best.tally.begins(RELOCATION)
    how = replace(how, relocate=relocate, only_required=harm_first(best.tiers))
    placement = construct(best.searched, deadline, how)
    if home:
        placement = sent_home(best.searched, placement)
    return best.offer(placement, by or how.strategy.value)


def harm_first(tiers: Sequence[Tier]) -> bool:
    """Whether a model rather leaves a job pending than it evicts a pod or moves one."""
    ranks = [tier.metric for tier in tiers if tier.metric in (Metric.UNPLACED, *DISTURBING)]
    return bool(ranks) and ranks[0] is not Metric.UNPLACED


def who_is_open(best: Incumbent) -> bool:
    """Whether it is not proved who is placed and whom that harms."""
    asked = (*OF_WHO_IS_PLACED, *DISTURBING)
    tiers = enumerate(best.tiers)
    return any(tier.metric in asked and best.values[i] > best.floor(i) for i, tier in tiers)


def new_jobs(best: Incumbent) -> set[int]:
    """Return jobs that wait and that the best plan places."""
    instance, placed = best.searched, best.placement.placed
    waiting = (job for job in instance.jobs if instance.pending_of(job.index))
    return {job.index for job in waiting if any(map(placed, job.podsets))}


def squeaky(best: Incumbent, asked: Collection[int] = ()) -> set[int]:
    """Return gangs that are left out of what is not proved yet: of them the most important.

    Without those who have been asked. Of single pods chains know better where there is room.
    """
    instance, jobs = best.searched, best.searched.jobs
    tiers = [
        tier
        for i, tier in enumerate(best.tiers)
        if tier.counts_unplaced and best.values[i] > best.floor(i)
    ]
    waiting = {job.index for job in jobs if instance.pending_of(job.index)}.difference(asked)
    gangs = {j for j in waiting - new_jobs(best) if jobs[j].is_gang}
    left_out = {j for j in gangs if any(tier.concerns(jobs[j]) for tier in tiers)}
    top = max((jobs[j].priority for j in left_out), default=0)
    return {j for j in left_out if jobs[j].priority == top}
