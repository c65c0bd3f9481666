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


def reinserted(
    instance: Instance, placement: Placement, deadline: Deadline, strategy: Strategy
) -> Placement:
    """Return a placement with new jobs elsewhere, at less harm, until that is in vain."""
    state = State(instance)
    pass_ = _Pass(state, strategy, deadline)
    state.go_to(placement)
    while pass_.run():
        pass
    return state.placement()


class _Pass:
    def __init__(self, state: State, strategy: Strategy, deadline: Deadline) -> None:
        self._state, self._deadline = state, deadline
        self._placer = placer_of(state, strategy, deadline.cuts)
        self._preemption = Preemption(self._placer)
        self._preemption.victims.scarce_first = True

    def run(self) -> bool:
        """Try all new jobs; say whether any has harmed less."""
        instance, placed = self._state.instance, self._state.placed
        new = [
            job
            for job in instance.jobs
            if not instance.running_of(job.index) and any(placed[s] for s in job.podsets)
        ]
        new.sort(key=lambda job: (-job.priority, job.index))
        return sum(self._reinsert(job) for job in new if not self._deadline.cuts()) > 0

    def _reinsert(self, job: Job) -> bool:
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
