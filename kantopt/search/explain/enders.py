"""Running jobs of which the end would make room for another, as far as counting pods tells."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.search.explain.counting import Gone, hardest, nobody, regions
from kantopt.search.insertion.domains import Domains
from kantopt.search.shapes import Ints
from kantopt.search.state import State, rooms

_MOST_SINGLE = 12
"""Single jobs that are worth a try."""
_MOST_GROUPS = 4
"""Sets of jobs that are, in different domains."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Jobs whose end might be enough, by itself or together, the smallest first."""

    single: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Gain:
    """What the end of a job would do: pods that end, pods that fit instead on which nodes."""

    pods: int
    gain: int
    job: int
    nodes: Ints


def enders(
    question: Instance,
    j: int,
    wanted: Mapping[int, int],
    lasting: Collection[int] = (),
    gone: Gone = nobody,
) -> Candidates:
    """Rank running jobs by what their end would do for a job.

    Counted are the pods of the job's hardest pod set that nodes hold once a job is gone, in the
    best domain if they must share one; what else the rules ask is left to the trial. Jobs that are
    ``lasting`` do not end; pod sets that are ``gone`` are not there.
    """
    return _Ranking(question, j, wanted, lasting, gone).candidates()


class _Ranking:
    def __init__(
        self,
        question: Instance,
        j: int,
        wanted: Mapping[int, int],
        lasting: Collection[int],
        gone: Gone,
    ) -> None:
        self.question = question
        self.j = j
        self.others = [x for x in question.jobs if x.index != j and x.index not in lasting]
        self.running = {
            x.index: [s for s in question.running_of(x.index) if not gone(question.podsets[s])]
            for x in question.jobs
        }
        stay = question.current.replace(
            {podset.index: {} for podset in question.podsets if podset.running and gone(podset)}
        )
        self.state = State(question, stay)
        s = hardest(question, wanted)
        self.need = wanted[s]
        self.shape, self.allowed = self.state.shape[s], self.state.allowed(s)
        self.apart = self.state.neighbours.concern(s)
        needs = question.needs_of.get(j, ())
        self.level = next((need.required for need in needs if need.required is not None), None)
        self.regions, self.domains = regions(question, self.level), Domains(question)
        self.before = self._room(np.arange(self.state.size))

    def candidates(self) -> Candidates:
        gains, single = [], []
        for job in self.others:
            if not self.running[job.index]:
                continue
            gain, room = self._gain(job.index)
            near = self.apart or self._same_queue(job.index)
            if not gain.gain and not near:
                continue
            gains.append(gain)
            after = self.before.copy()
            after[gain.nodes] = room
            if near or self._held(after) >= self.need:
                single.append((gain.pods, job.index))
        return Candidates(
            single=tuple(x for _, x in sorted(single)[:_MOST_SINGLE]),
            groups=tuple(self._groups(gains)),
        )

    def _same_queue(self, x: int) -> bool:
        queue = self.question.jobs[self.j].queue
        return queue is not None and self.question.jobs[x].queue == queue

    def _room(self, nodes: Ints) -> Ints:
        found: Ints = rooms(self.state, self.shape, self.need, nodes) * self.allowed[nodes]
        return found

    def _held(self, room: Ints) -> int:
        """Pods of the job that fit together."""
        if self.level is None:
            return int(room.sum())
        totals = self.domains.totals(self.level, room)
        return int(totals.max()) if len(totals) else 0

    def _end(self, x: int) -> int:
        """Take the pods of a job away; return how many."""
        pods = 0
        for s in self.running[x]:
            for spot, k in self.question.podsets[s].current.items():
                self.state.add(s, spot, -k)
                pods += k
        return pods

    def _gain(self, x: int) -> tuple[_Gain, Ints]:
        podsets = (self.question.podsets[s] for s in self.running[x])
        there = {spot.node for podset in podsets for spot in podset.current}
        nodes: Ints = np.array(sorted(there), dtype=np.int64)
        mark = self.state.mark()
        pods = self._end(x)
        room = self._room(nodes)
        self.state.undo(mark)
        return _Gain(pods, int((room - self.before[nodes]).sum()), x, nodes), room

    def _groups(self, gains: list[_Gain]) -> list[tuple[int, ...]]:
        """Sets of jobs that make room together, in the regions where least is missing."""
        short = [(self.need - int(self.before[r].sum()), i) for i, r in enumerate(self.regions)]
        found: list[tuple[int, tuple[int, ...]]] = []
        for _, i in sorted(short)[:_MOST_GROUPS]:
            region = self.regions[i]
            inside = set(region.tolist())
            mark, lost, chosen = self.state.mark(), 0, []
            for gain in sorted(gains, key=lambda g: (g.pods, -g.gain, g.job)):
                if int(self._room(region).sum()) >= self.need:
                    break
                if not inside.isdisjoint(gain.nodes.tolist()):
                    lost += self._end(gain.job)
                    chosen.append(gain.job)
            if int(self._room(region).sum()) >= self.need and len(chosen) > 1:
                found.append((lost, tuple(chosen)))
            self.state.undo(mark)
        return [group for _, group in sorted(found)]
