"""Room in the quota for a job that has been placed: lesser jobs of its cohort give way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.state import State


def within_quota(question: Instance, j: int, placement: Placement) -> Placement:
    """Return a placement of a job with so many more evicted that its cohort keeps its quota.

    Those of its own queue go before others of the cohort, of each the least important; whoever is
    not needed for it in the end stays. Where all of them are too few nothing is changed.
    """
    queue = question.jobs[j].queue
    if queue is None or not question.on(Rule.QUOTA):
        return placement
    state = State(question, placement)
    before = state.quotas.exceeded()
    if not before:
        return placement
    marks = [state.mark()]
    for victim in _victims(question, j, queue):
        if not state.quotas.exceeded():
            break
        _evict(state, victim)
        marks.append(state.mark())
    if state.quotas.exceeded():
        return placement
    changes = [state.journal[a:b] for a, b in pairwise(marks)]
    for change in changes:
        mark = state.mark()
        for s, spot, pods in change:
            state.add(s, spot, -pods)
        if state.quotas.exceeded():
            state.undo(mark)
    return state.placement()


def _victims(question: Instance, j: int, queue: int) -> Iterator[int]:
    """Jobs that may go for a job and use the quota that it lacks, the first to go first."""
    may = freedom_of(question)
    rivals = question.rivals(queue)
    jobs = [
        job
        for job in question.jobs
        if job.queue in rivals and any(may.gives_way(s, j) for s in question.running_of(job.index))
    ]
    jobs.sort(key=lambda job: (job.queue != queue, job.priority, job.index))
    yield from (job.index for job in jobs)


def _evict(state: State, victim: int) -> None:
    """Evict all that runs of a job."""
    for s in state.instance.running_of(victim):
        for spot, pods in sorted(state.spots[s].items()):
            state.add(s, spot, -pods)
