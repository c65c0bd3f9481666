"""Quota for a job, given back by lesser pods of its queue or cohort: by few of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from kantopt.problem.cluster import Spot
from kantopt.search.least_harm import LeastHarm
from kantopt.search.preemption.gone import Level
from kantopt.search.preemption.victims import Victims
from kantopt.search.shapes import Mask
from kantopt.search.state import Change

_Wants = Collection[tuple[int, int]]


class _VictimKind(NamedTuple):
    """What victims are alike in: what goes with a pod of theirs, what it costs and gives back."""

    spared: bool
    priority: int
    cost: int
    queue: int
    uses: tuple[int, ...]


class QuotaRoom:
    """Finds victims until a queue admits a job: of the least important who give most back.

    That is of what is lacking, for what they cost. Of alike ones those go first who make room on
    nodes where the job may go.
    """

    def __init__(self, victims: Victims, level: Level) -> None:
        self.victims = victims
        self.state = victims.state
        self.level = level

    def find(self, j: int, wants: _Wants, near: Mask) -> list[Change] | None:
        """Who goes of the job's queue, or of its whole cohort, whichever is less harm."""
        state, queue = self.state, self.state.instance.jobs[j].queue
        if queue is None or state.admits(j, wants):
            return []
        least, mark = LeastHarm(state), state.mark()
        for queues in dict.fromkeys((frozenset((queue,)), state.instance.rivals(queue))):
            if self._evict_from(queues, queue, j, wants, near):
                least.note(self.victims.gone.harm(), mark)
            state.undo(mark)
        return None if least.harm is None else least.changes

    def _evict_from(
        self, queues: frozenset[int], queue: int, j: int, wants: _Wants, near: Mask
    ) -> bool:
        state, level, asked = self.state, self.level, self.state.demanded(wants)
        kinds: dict[_VictimKind, list[tuple[bool, int, Spot]]] = {}
        for job in self.victims.jobs:
            for s in self.victims.able[job.index] if job.queue in queues else ():
                if state.spots[s] and self.victims.may_go(level, job.priority, s):
                    kind = self._kind(s, asked)
                    for spot in state.spots[s]:
                        heappush(kinds.setdefault(kind, []), (not near[spot.node], s, spot))

        def order(kind: _VictimKind) -> tuple[bool, bool, int, float, _VictimKind]:
            relief = state.quotas.relief(queue, asked, kind.queue, kind.uses)
            return not relief, not kind.spared, kind.priority, kind.cost / (relief or 1), kind

        while kinds:
            kind = min(kinds, key=order)
            _, s, spot = place = heappop(kinds[kind])
            if not kinds[kind]:
                del kinds[kind]
            if not state.spots[s].get(spot) or not self.victims.may_go(level, kind.priority, s):
                continue
            now = self._kind(s, asked)
            if now == kind:
                mark = state.mark()
                self.victims.evict(s, spot, 1, level=level)
                if state.mark() == mark:
                    continue
                if state.admits(j, wants):
                    return True
            heappush(kinds.setdefault(now, []), place)
        return False

    def _kind(self, s: int, asked: Sequence[int]) -> _VictimKind:
        state, victims = self.state, self.victims
        job, going = state.instance.job_of(s), {s: 1}
        if victims.goes_whole(job):
            going = {o: state.placed[o] for o in job.podsets}
        podsets = state.instance.podsets
        uses = tuple(
            sum(podsets[o].demand[r] * pods for o, pods in going.items()) if amount else 0
            for r, amount in enumerate(asked)
        )
        cost = sum(victims.gone.toll(o, self.level) * pods for o, pods in going.items())
        spared = victims.gone.spares_first and victims.spare(job) > 0
        return _VictimKind(spared, job.priority, cost, job.queue or 0, uses)
