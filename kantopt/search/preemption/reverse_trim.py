"""Reverse trim (Kueue): candidates are evicted in order until it fits, then the rest are spared.

For comparison: the set of victims that is left has none too many, but another may be smaller.
"""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.search.insertion.placer import Want
from kantopt.search.preemption.pushing import Place, Pushing
from kantopt.search.state import Change

_Unit = tuple[Change, ...]
"""What goes together: a pod, or a job that goes as a whole."""


class ReverseTrim(Pushing):
    """Finds victims for jobs as Kueue does: the least important first, the latest started first.

    They go one by one until the job fits. Then, from the last to the first, each comes back
    without which the job still fits. Nothing is moved.
    """

    def _push_in(self, j: int, wants: list[Want], place: Place) -> bool:
        state = self.state
        mark, seen = state.mark(), len(state.touched)
        if place(None):
            return True
        units: list[_Unit] = []
        fits = False
        for unit in self._candidates(state.instance.jobs[j].priority):
            units.append(unit)
            fits = place(None)
            if fits or self.over():
                break
        if fits:
            state.undo(mark)
            self._place_without(self._trimmed(units, place), place)
            if self.put_back.settles(seen):
                return True
        state.undo(mark)
        return False

    def _candidates(self, priority: int) -> Iterator[_Unit]:
        """Evict one unit after the other; jobs that have run for the shortest time go first."""
        jobs = [job for job in self.victims.jobs if job.priority < priority]
        for job in sorted(jobs, key=lambda job: (job.priority, job.ran_seconds, job.index)):
            for s, spot in self._places(job):
                while self.state.spots[s].get(spot):
                    mark = self.state.mark()
                    self.victims.evict(s, spot, most=1)
                    gone = tuple(self.state.journal[mark:])
                    if not gone:
                        break
                    yield gone

    def _places(self, job: Job) -> list[tuple[int, Spot]]:
        running = self.state.instance.running_of(job.index)
        return [(s, spot) for s in running for spot in sorted(self.state.spots[s])]

    def _trimmed(self, units: list[_Unit], place: Place) -> list[_Unit]:
        """Walk back over the victims and spare those that are not needed."""
        state = self.state
        kept = list(units)
        for unit in reversed(units[:-1]):
            if self.over():
                break
            mark = state.mark()
            rest = [each for each in kept if each is not unit]
            if self._place_without(rest, place):
                kept = rest
            state.undo(mark)
        return kept

    def _place_without(self, units: list[_Unit], place: Place) -> bool:
        for unit in units:
            for change in unit:
                self.state.add(*change)
        return place(None)
