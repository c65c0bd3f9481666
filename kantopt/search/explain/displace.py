"""A place for a job at the cost of its neighbours: a witness that it may be, not the best one.

Only the nodes that the job takes are looked at, and where those can go that leave them.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement, Spots
from kantopt.schema.model import Rule
from kantopt.search.explain.counting import Counting, countable
from kantopt.search.shapes import Ints, Mask, mask_of
from kantopt.search.state import UNLIMITED, State, capacity_of

_ELSEWHERE = 4
"""How much worse it is that a pod moves than that it is gone: room elsewhere is scarce."""
_MOST_MOVES = 400
"""Pods that are moved for one job."""
_LOOKS = 12
"""Nodes that are looked at for one that smaller pods could leave."""
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


Pod = tuple[int, Spot]
"""A running pod: its pod set and where it is."""


@dataclass(slots=True)
class _Shift:
    """What leaves so far."""

    left: dict[int, dict[Spot, int]] = field(default_factory=dict)
    """Pods that have left each spot, by pod set."""
    moving: list[Pod] = field(default_factory=list)
    arrived: dict[int, dict[Spot, int]] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    """Jobs that are evicted with all their pods."""


class Displacing:
    """Puts a job where others are, under some of the rules.

    What it makes need not be legal: that is for the judge to say.
    """

    def __init__(
        self,
        question: Instance,
        counting: Counting,
        rules: Collection[Rule],
        moves_first: bool = False,
    ) -> None:
        self.moves_first = moves_first
        self.question = question
        self.counting = counting
        self.rules = frozenset(rules)
        self._may = freedom_of(question, rules)
        self.j = counting.j
        self._capacity = capacity_of(question).T
        if Rule.CAPACITY not in rules:
            self._capacity[:] = UNLIMITED
        self._masks: dict[frozenset[int], Mask] = {}
        self._requests = np.array([p.requests for p in question.podsets], dtype=np.int64)

    def placements(self) -> Iterator[Placement]:
        """Yield a placement for each of the regions where least has to leave."""
        rules, counting = self.rules, self.counting
        pods = counting.pods(rules)
        room = np.where(
            counting.admitted | (Rule.ELIGIBILITY not in rules), counting.room(self._leaves), 0
        )
        if Rule.CAPACITY not in rules:
            return
        costs: list[tuple[int, int, list[int]]] = []
        level = counting.level if Rule.TOPOLOGY in rules else None
        now = np.minimum(counting.room(), room)
        toll = self._toll
        for i, nodes in enumerate(counting.regions(level)):
            if int(room[nodes].sum()) < pods:
                continue
            inside = np.array(nodes, dtype=np.int64)
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
        return podset.job != self.j and self._mode(podset) is not None

    def _mode(self, podset: PodSet) -> bool | None:
        """Whether pods are evicted (true), moved (false) or must stay (nothing)."""
        moves = self._may.steps[podset.index] > 0
        if self.moves_first and moves:
            return False
        if self._may.gives_way(podset.index, self.j):
            return True
        return False if moves else None

    @cached_property
    def _modes(self) -> list[bool | None]:
        return [
            self._mode(p) if p.running and p.job != self.j else None for p in self.question.podsets
        ]

    @cached_property
    def _sizes(self) -> Ints:
        """What a pod of each pod set takes of the resource that the job asks most of, in 1/1000."""
        most = np.where(self._capacity >= UNLIMITED, 0, self._capacity).max(axis=0, initial=0)
        share = self._requests * 1000 // np.maximum(most, 1)
        asked = np.array(self.counting.podset.requests) > 0
        return np.asarray(share[:, asked].max(axis=1, initial=0), dtype=np.int64)

    @cached_property
    def _pods_on(self) -> list[list[Pod]]:
        """Pods that may leave each node, the largest first."""
        found: list[list[Pod]] = [[] for _ in self.question.nodes]
        for podset, mode in zip(self.question.podsets, self._modes, strict=True):
            if mode is not None:
                for spot, pods in podset.current.items():
                    found[spot.node] += [(podset.index, spot)] * pods
        for pods_here in found:
            pods_here.sort(key=lambda pod: (-int(self._sizes[pod[0]]), pod))
        return found

    @cached_property
    def _toll(self) -> Ints:
        """What pods that may leave each node take there, more if they need another place."""
        return np.array(
            [
                sum(int(self._sizes[s]) * (1 if self._modes[s] else _ELSEWHERE) for s, _ in pods)
                for pods in self._pods_on
            ],
            dtype=np.int64,
        )

    @cached_property
    def _standing(self) -> Ints:
        free = self._capacity.copy()
        for podset in self.question.podsets:
            for spot, pods in podset.current.items() if podset.running else ():
                free[spot.node] -= pods * self._requests[podset.index]
        return free

    def _made(self, chosen: list[int], room: Ints, pods: int) -> Placement | None:
        """Place the job on some nodes, let leave what is in its way, and find it other places."""
        counting, free, shift = self.counting, self._standing.copy(), _Shift()
        ask, spots, left = self._requests[counting.s], {}, pods
        limited = ask > 0
        for n in chosen:
            k = min(left, int(room[n]))
            spots[Spot(n)] = k
            left -= k
            gone: list[Pod] = []
            for pod in self._pods_on[n]:
                if bool((free[n] >= k * ask)[limited].all()):
                    break
                if self._there(shift, pod):
                    self._leave(shift, free, pod)
                    gone.append(pod)
            for pod in gone:  # the last ones may have been enough
                back = self._requests[pod[0]]
                alone = self.question.podsets[pod[0]].job not in shift.whole
                if alone and bool((free[n] - back >= k * ask)[limited].all()):
                    if not self._modes[pod[0]]:
                        shift.moving.remove(pod)
                    self._count(shift.left, pod, -1)
                    free[n] -= back
            free[n] -= k * ask
        if not self._move(shift, free, chosen):
            return None
        changed: dict[int, Spots] = {counting.s: spots}
        for s in {*shift.left, *shift.arrived}:
            there = dict(self.question.podsets[s].current)
            for spot, k in shift.left.get(s, {}).items():
                there[spot] -= k
            for spot, k in shift.arrived.get(s, {}).items():
                there[spot] = there.get(spot, 0) + k
            changed[s] = {spot: k for spot, k in there.items() if k}
        return self.question.current.replace(changed)

    def _there(self, shift: _Shift, pod: Pod) -> bool:
        s, spot = pod
        return self.question.podsets[s].current[spot] > shift.left.get(s, {}).get(spot, 0)

    def _count(self, counts: dict[int, dict[Spot, int]], pod: Pod, k: int) -> None:
        spots = counts.setdefault(pod[0], {})
        spots[pod[1]] = spots.get(pod[1], 0) + k

    def _leave(self, shift: _Shift, free: Ints, pod: Pod) -> None:
        """Take a pod away; with it its job, if that is evicted whole or not at all."""
        s, spot = pod
        self._count(shift.left, pod, 1)
        free[spot.node] += self._requests[s]
        if not self._modes[s]:
            shift.moving.append(pod)
            return
        job = self.question.job_of(s)
        least = max(job.min_count, sum(role.min_count for role in job.roles))
        running = self.question.running_of(job.index)
        total = self.question.pods_of(running)
        lost = sum(sum(shift.left.get(i, {}).values()) for i in running)
        whole = job.all_victims and Rule.GANG_VICTIMS in self.rules
        if not whole and not (Rule.GANG in self.rules and job.is_gang and total - lost < least):
            return
        shift.whole.add(job.index)
        for i in running:
            for other, k in self.question.podsets[i].current.items():
                more = k - shift.left.get(i, {}).get(other, 0)
                if more:
                    self._count(shift.left, (i, other), more)
                    free[other.node] += more * self._requests[i]

    def _move(self, shift: _Shift, free: Ints, closed: Sequence[int]) -> bool:
        """Find other nodes for pods that move, the largest first; smaller ones make room there."""
        everywhere = ~mask_of(len(free), closed)
        asked = self._requests[[s for s, _ in shift.moving]].sum(axis=0)
        if bool((np.clip(free[everywhere], 0, UNLIMITED // len(free)).sum(axis=0) < asked).any()):
            return False
        heap: list[tuple[int, Pod]] = []
        for _ in range(_MOST_MOVES):
            while shift.moving:
                pod = shift.moving.pop()
                heapq.heappush(heap, (-int(self._sizes[pod[0]]), pod))
            if not heap:
                return True
            s, _ = heapq.heappop(heap)[1]
            ask, allowed = self._requests[s], everywhere & self._admits(s)
            fits = allowed & (free >= ask).all(axis=1)
            if fits.any():
                nodes = np.flatnonzero(fits)
                spare = free[nodes][:, ask > 0]
                n = int(nodes[np.where(spare < UNLIMITED // 2, spare, 0).sum(axis=1).argmin()])
            elif (found := self._emptied(shift, free, s, allowed)) is not None:
                n, out = found
                for other in out:
                    self._leave(shift, free, other)
            else:
                return False
            free[n] -= ask
            self._count(shift.arrived, (s, Spot(n)), 1)
        return False

    def _admits(self, s: int) -> Mask:
        """Nodes that a pod set may go to."""
        nodes = self.question.podsets[s].allowed
        if Rule.ELIGIBILITY not in self.rules:
            nodes = frozenset(range(len(self.question.nodes)))
        if nodes not in self._masks:
            self._masks[nodes] = mask_of(len(self.question.nodes), nodes)
        return self._masks[nodes]

    @cached_property
    def _lighter(self) -> Ints:
        """What pods that may move ask of each node."""
        found = np.zeros_like(self._capacity)
        for n, pods in enumerate(self._pods_on):
            for s, _ in pods:
                if self._modes[s] is False:
                    found[n] += self._requests[s]
        return found

    def _emptied(
        self, shift: _Shift, free: Ints, s: int, allowed: Mask
    ) -> tuple[int, list[Pod]] | None:
        """Node where smaller pods that may move would leave room, those that lose least first."""
        ask, size = self._requests[s], int(self._sizes[s])
        may = np.flatnonzero(allowed & (free + self._lighter >= ask).all(axis=1))
        short = np.maximum(ask - free[may], 0)[:, ask > 0]
        weighed = (short * 1000 // np.maximum(ask[ask > 0], 1)).max(axis=1, initial=0)
        best: tuple[int, int, list[Pod]] | None = None
        for n in may[np.lexsort((may, weighed))][:_LOOKS].tolist():
            there, out, lost = free[n].copy(), [], 0
            for pod in self._pods_on[n]:
                if bool((there >= ask).all()):
                    break
                mine = int(self._sizes[pod[0]])
                if self._modes[pod[0]] is False and 0 < mine < size and self._there(shift, pod):
                    there += self._requests[pod[0]]
                    lost += mine
                    out.append(pod)
            if bool((there >= ask).all()) and (best is None or lost < best[0]):
                best = lost, n, out
        return None if best is None else (best[1], best[2])


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
