"""A place for a job at the cost of its neighbours: a witness that it may be, not the best one.

Only the nodes that the job takes are looked at, and where those can go that leave them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.displacement import Displacement, Pod, Shift
from kantopt.search.explain.counting import Counting, countable, regions
from kantopt.search.shapes import Ints
from kantopt.search.state import State

_REGIONS = 3
"""Domains that are tried, those first where least has to leave."""


def displacements(question: Instance, j: int) -> Iterator[Placement]:
    """Yield placements of a job at the cost of its neighbours; nothing of one not to be counted.

    Where somebody must make way those that may move do so at first, then those that may be evicted
    go. What is yielded need not be legal, and none of it is known to cost the least.
    """
    if not countable(question, j):
        return
    counting = Counting(question, j)
    rules = [rule for rule in Rule if question.on(rule)]
    for moves_first in (True, False):
        for placement in Displacing(question, counting, rules, moves_first).placements():
            yield within_quota(question, j, placement)


class Displacing(Displacement):
    """Puts a job where others are, under some of the rules."""

    def __init__(
        self,
        question: Instance,
        counting: Counting,
        rules: Collection[Rule],
        moves_first: bool = False,
    ) -> None:
        super().__init__(question, rules, np.array(counting.podset.requests))
        self.moves_first = moves_first
        self.counting = counting
        self.j = counting.j

    def placements(self) -> Iterator[Placement]:
        """Yield a placement for each of the regions where least has to leave."""
        rules, counting = self.rules, self.counting
        pods = counting.pods(rules)
        if Rule.CAPACITY not in rules:
            return
        room = counting.taken(rules, self._leaves)
        costs: list[tuple[int, int, list[int]]] = []
        level = counting.level if Rule.TOPOLOGY in rules else None
        now = np.minimum(counting.room(), room)
        toll = self.toll
        for i, inside in enumerate(regions(self.question, level)):
            if int(room[inside].sum()) < pods:
                continue
            gain = np.maximum(room[inside], 1)
            order = inside[np.lexsort((inside, -now[inside], toll[inside] // gain))]
            chosen, held = [], 0
            for n in order.tolist():
                if room[n] and held < pods:
                    chosen.append(n)
                    held += int(room[n])
            costs.append((int(toll[chosen].sum()), i, chosen))
        for _, _, chosen in sorted(costs)[:_REGIONS]:
            made = self._made(chosen, room, pods)
            if made is not None:
                yield made

    def _leaves(self, podset: PodSet) -> bool:
        return self.mode(podset) is not None

    def mode(self, podset: PodSet) -> bool | None:
        """Whether pods are evicted (true), moved (false) or must stay (nothing)."""
        if podset.job == self.j:
            return None
        moves = self.may.steps[podset.index] > 0
        if self.moves_first and moves:
            return False
        if self.may.gives_way(podset.index, self.j):
            return True
        return False if moves else None

    def _made(self, chosen: list[int], room: Ints, pods: int) -> Placement | None:
        """Place the job on some nodes, let leave what is in its way, and find it other places."""
        counting, free, shift = self.counting, self.standing.copy(), Shift()
        ask, spots, left = self.requests[counting.s], {}, pods
        limited = ask > 0
        for n in chosen:
            k = min(left, int(room[n]))
            spots[Spot(n)] = k
            left -= k
            gone: list[Pod] = []
            for pod in self.pods_on[n]:
                if bool((free[n] >= k * ask)[limited].all()):
                    break
                if self.there(shift, pod):
                    self.leave(shift, free, pod)
                    gone.append(pod)
            for pod in gone:  # the last ones may have been enough
                back = self.requests[pod[0]]
                alone = self.question.podsets[pod[0]].job not in shift.whole
                if alone and bool((free[n] - back >= k * ask)[limited].all()):
                    if not self.modes[pod[0]]:
                        shift.moving.remove(pod)
                    self.count(shift.left, pod, -1)
                    free[n] -= back
            free[n] -= k * ask
        if not self.move(shift, free, chosen):
            return None
        return self.placement(shift, {counting.s: spots})


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
