"""Would the victims of a plan, queued again, push out others, and these still others?"""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.clock import Deadline
from kantopt.problem.derived.aftermath import after_plan
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.answers.cascade import Cascade, CascadeRound, Pushed
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from kantopt.verify.step import Step
from kantopt.verify.victims.ending import Bears, evicted, for_good
from kantopt.verify.victims.preemptors import preemptors_of

MOST_ROUNDS = 8
"""Rounds that are followed; each one's victims are less important than the last one's."""


def cascade(
    instance: Instance, placement: Placement, deadline: Deadline, bears: Bears
) -> Cascade | None:
    """Queue the victims of a plan again and place them as a scheduler would, round by round.

    Each round is a legal plan, found by the fast path with preemption and without moves: it shows
    that victims can push others out, not that every scheduler would do so, or none.

    Parameters
    ----------
    instance, placement
        The question, and where the plan leads.
    deadline
        When to stop.
    bears
        How many pods of jobs may go before nobody makes them anew.

    Returns
    -------
    Cascade | None
        ``None`` if the plan has no victims that are queued again.
    """
    rounds: list[CascadeRound] = []
    step = Step(instance, instance.current, placement)
    while evicts(instance, placement):
        if rounds and (len(rounds) == MOST_ROUNDS or deadline.cuts()):
            return _told(rounds, complete=False)
        over, bears = for_good(step, bears), bears.after(step)
        if all(job.index in over for job in instance.jobs if evicted(step, job)):
            rounds += [_NOBODY] * bool(rounds)  # nobody is left who would wait again
            break
        if deadline.cuts():
            return _told((), complete=False)
        instance = after_plan(instance, placement, over)
        placement = construct(instance, deadline, How(Strategy.BEST_FIT))
        step = Step(instance, instance.current, placement)
        rounds.append(_round(step))
    return _told(rounds, complete=not deadline.cuts()) if rounds else None


def evicts(instance: Instance, placement: Placement) -> bool:
    """Whether a placement has fewer running pods than the snapshot."""
    return any(
        podset.running and placement.placed(podset.index) < podset.count
        for podset in instance.podsets
    )


_NOBODY = CascadeRound(returned_pods=0, waiting_pods=0)


def _told(rounds: Sequence[CascadeRound], *, complete: bool) -> Cascade:
    depth = sum(1 for each in rounds if each.evicted)
    return Cascade(depth=depth, complete=complete, rounds=tuple(rounds))


def _round(step: Step) -> CascadeRound:
    instance = step.instance
    returned = waiting = 0
    evicted = []
    preemptors = preemptors_of(step)
    for podset in instance.podsets:
        if not podset.running:
            bound = step.bound(podset.index)
            returned, waiting = returned + bound, waiting + podset.count - bound
    for job in step.changed_jobs:
        gone = sum(map(step.evicted, instance.running_of(job.index)))
        if gone:
            other = preemptors.of_job(job)
            by = None if other is None else other.name
            pushed = Pushed(job=job.name, priority=job.priority, pods=gone, for_job=by)
            evicted.append(pushed)
    return CascadeRound(returned_pods=returned, waiting_pods=waiting, evicted=tuple(evicted))
