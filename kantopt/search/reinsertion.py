"""Remove and reinsert: a new job leaves, its victims come back, and it comes in at less harm.

It may do so where others would have to displace more: of whom gangs can do without those go first
whom the fewest others may evict. One job at a time, from the most important on (the reinsertion
neighbourhood of routing: Savelsbergh 1992, ORSA Journal on Computing 4).
"""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.search.insertion.zones import placer_of
from kantopt.search.preemption.justify import drop
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.state import State
from kantopt.search.strategy import Strategy

_UNCOUNTED, _WORK_PER_SECOND = 2**60, 12_000
"""Jobs, and those of a deterministic run for each second, times nodes."""


def reinserted(
    instance: Instance, placement: Placement, deadline: Deadline, strategy: Strategy
) -> Placement:
    """Return a placement with new jobs elsewhere, at less harm, until that is in vain.

    A deterministic run counts nodes times jobs.
    """
    state = State(instance)
    reinsertion = _Reinsertion(state, strategy, deadline)
    state.go_to(placement)  # once it is watched who is gone
    tries = _UNCOUNTED
    if deadline.deterministic:
        tries = int((deadline.asked or 10.0) * _WORK_PER_SECOND) // max(1, len(instance.nodes))
    better = True
    while better:
        better = False
        for job in reinsertion.new_jobs():
            if not tries or deadline.cuts():
                return state.placement()
            better = reinsertion.reinsert(job) or better
            tries -= 1
    return state.placement()


class _Reinsertion:
    def __init__(self, state: State, strategy: Strategy, deadline: Deadline) -> None:
        self._state = state
        self._placer = placer_of(state, strategy, deadline.cuts)
        self._preemption = Preemption(self._placer)
        self._preemption.victims.scarce_first = True

    def new_jobs(self) -> list[Job]:
        """Return those that have a place, all of it new, the most important first."""
        instance, placed = self._state.instance, self._state.placed
        found = [
            job
            for job in instance.jobs
            if not instance.running_of(job.index) and any(placed[s] for s in job.podsets)
        ]
        return sorted(found, key=lambda job: (-job.priority, job.index))

    def reinsert(self, job: Job) -> bool:
        """Let a job leave and come in again; say whether that harms less, else nothing changes."""
        state, preemption = self._state, self._preemption
        gone = preemption.victims.gone
        harm, mark, pods = gone.harm(), state.mark(), self._pods(job)
        drop(state, job.index)
        preemption.put_back.reprieve({spot.node for _, spot, _ in state.journal[mark:]})
        if gone.harm() < harm:
            with preemption.kept.held(job.index):
                self._placer.place(job.index) or preemption.make_room(job.index)
            back = self._placer.runs(job.index) if job.is_gang else pods == self._pods(job)
            if back and gone.harm() < harm and preemption.kept.holds():
                return True
        state.undo(mark)
        return False

    def _pods(self, job: Job) -> list[int]:
        return [self._state.placed[s] for s in job.podsets]
