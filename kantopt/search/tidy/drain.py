"""Best fit decreasing: pods off the nodes to be emptied, the largest first, into the fullest.

Before them the jobs that go together, the largest first; after them those whom no node takes as it
is, but if others leave it; at last gangs that find no room in their domain, to another one.
"""

from __future__ import annotations

from collections.abc import Callable

from kantopt.problem.cluster import Spot
from kantopt.problem.placement import Placement
from kantopt.search.relocation.ejection import Ejection
from kantopt.search.relocation.movers import Movers
from kantopt.search.relocation.restarts import Restarts
from kantopt.search.relocation.targets import Fullest
from kantopt.search.shapes import mask_of
from kantopt.search.state import State


class Drain:
    """Moves what can be moved off the nodes that are to be emptied."""

    def __init__(self, state: State) -> None:
        self.state, self.movers = state, Movers(state)
        self._restarts = Restarts(state)
        self._fullest = Fullest(state, self.movers)
        self._mask = ~mask_of(state.size, state.instance.drained)
        self._ejection = Ejection(state, self.movers, self._fullest)
        self.left: list[tuple[int, Spot]] = []
        """Pods that may move and for which :meth:`run` has found no place."""

    def restart(self, over: Callable[[], bool], found: Callable[[Placement], bool]) -> None:
        """Restart elsewhere each job that goes together, if that is ``found`` to be legal."""
        state, drained = self.state, self.state.instance.drained
        jobs = [j for j in self._restarts.jobs if self._restarts.nodes(j) & drained]
        jobs.sort(key=lambda j: (-state.instance.running_pods(j), j))
        for j in jobs:
            mark = state.mark()
            if over():
                return
            if self._restarts.move(j, self._mask) and not found(state.placement()):
                state.undo(mark)

    def run(self, over: Callable[[], bool]) -> list[int]:
        """Move each pod that another node takes; return where each move ends in the journal."""
        state, marks = self.state, list[int]()
        drained = state.instance.drained
        pods = [
            (s, spot)
            for s, spots in enumerate(state.spots)
            if self.movers.movable[s]
            for spot, k in sorted(spots.items())
            if spot.node in drained
            for _ in range(k)
        ]
        pods.sort(key=lambda pod: (-self._fullest.size(pod[0]), pod))
        for others_leave in (False, True):
            left = list[tuple[int, Spot]]()
            for s, spot in pods:
                if over():
                    return marks
                gone = self._fullest.move(s, spot, self._mask) is not None
                if gone or (others_leave and self._ejection.move(s, spot, self._mask)):
                    marks.append(state.mark())
                else:
                    left.append((s, spot))
            pods = left
        job = {s: state.instance.podsets[s].job for s, _ in pods}
        for j in sorted(set(job.values()), key=lambda j: (-state.instance.running_pods(j), j)):
            if not over() and self._restarts.leave(j, self._mask):
                marks.append(state.mark())
                pods = [pod for pod in pods if job[pod[0]] != j]
        self.left = pods
        return marks
