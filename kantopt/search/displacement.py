"""Pods that leave nodes find others, and smaller ones make room for them there.

Ejection chains (Glover 1996) as long as they need be, by size: a pod that fits nowhere takes the
place of smaller ones, which then look for places of their own.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement, Spots
from kantopt.schema.model import Rule
from kantopt.search.shapes import Ints, Mask, mask_of
from kantopt.search.state import UNLIMITED, capacity_of

_ELSEWHERE = 4
"""How much worse it is that a pod moves than that it is gone: room elsewhere is scarce."""
_MOST_MOVES = 400
"""Pods that are moved for one job."""
_LOOKS = 12
"""Nodes that are looked at for one that smaller pods could leave."""
Pod = tuple[int, Spot]
"""A running pod: its pod set and where it is."""


@dataclass(slots=True)
class Shift:
    """What leaves so far."""

    left: dict[int, dict[Spot, int]] = field(default_factory=dict)
    """Pods that have left each spot, by pod set."""
    moving: list[Pod] = field(default_factory=list)
    arrived: dict[int, dict[Spot, int]] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    """Jobs that are evicted with all their pods."""


class Displacement:
    """What leaves nodes, and where it goes, under some of the rules.

    What comes of it need not be legal: that is for the judge to say. Who has to leave is what
    subclasses add.
    """

    def __init__(self, question: Instance, rules: Collection[Rule], asked: Ints) -> None:
        self.question = question
        self.rules = frozenset(rules)
        self.may = freedom_of(question, rules)
        self.capacity = capacity_of(question).T
        if Rule.CAPACITY not in rules:
            self.capacity[:] = UNLIMITED
        self.requests = np.array([p.requests for p in question.podsets], dtype=np.int64)
        self._asked = asked > 0
        self._masks: dict[frozenset[int], Mask] = {}

    def mode(self, podset: PodSet) -> bool | None:
        """Whether pods are evicted (true), moved (false) or must stay (nothing)."""
        return False if self.may.steps[podset.index] > 0 else None

    @cached_property
    def modes(self) -> list[bool | None]:
        return [self.mode(p) if p.running else None for p in self.question.podsets]

    @cached_property
    def sizes(self) -> Ints:
        """What a pod of each pod set takes of the resource that it takes most of, in 1/1000."""
        most = np.where(self.capacity >= UNLIMITED, 0, self.capacity).max(axis=0, initial=0)
        share = self.requests * 1000 // np.maximum(most, 1)
        return np.asarray(share[:, self._asked & (most > 0)].max(axis=1, initial=0), dtype=np.int64)

    @cached_property
    def pods_on(self) -> list[list[Pod]]:
        """Pods that may leave each node, the largest first."""
        found: list[list[Pod]] = [[] for _ in self.question.nodes]
        for podset, mode in zip(self.question.podsets, self.modes, strict=True):
            if mode is not None:
                for spot, pods in podset.current.items():
                    found[spot.node] += [(podset.index, spot)] * pods
        for pods_here in found:
            pods_here.sort(key=lambda pod: (-int(self.sizes[pod[0]]), pod))
        return found

    @cached_property
    def toll(self) -> Ints:
        """What pods that may leave each node take there, more if they need another place."""
        return np.array(
            [
                sum(int(self.sizes[s]) * (1 if self.modes[s] else _ELSEWHERE) for s, _ in pods)
                for pods in self.pods_on
            ],
            dtype=np.int64,
        )

    @cached_property
    def standing(self) -> Ints:
        free = self.capacity.copy()
        for podset in self.question.podsets:
            for spot, pods in podset.current.items() if podset.running else ():
                free[spot.node] -= pods * self.requests[podset.index]
        return free

    def there(self, shift: Shift, pod: Pod) -> bool:
        s, spot = pod
        return self.question.podsets[s].current[spot] > shift.left.get(s, {}).get(spot, 0)

    def count(self, counts: dict[int, dict[Spot, int]], pod: Pod, k: int) -> None:
        spots = counts.setdefault(pod[0], {})
        spots[pod[1]] = spots.get(pod[1], 0) + k

    def leave(self, shift: Shift, free: Ints, pod: Pod) -> None:
        """Take a pod away; with it its job, if that is evicted whole or not at all."""
        s, spot = pod
        self.count(shift.left, pod, 1)
        free[spot.node] += self.requests[s]
        if not self.modes[s]:
            shift.moving.append(pod)
            return
        job = self.question.job_of(s)
        running = self.question.running_of(job.index)
        total = self.question.pods_of(running)
        lost = sum(sum(shift.left.get(i, {}).values()) for i in running)
        whole = job.all_victims and Rule.GANG_VICTIMS in self.rules
        if not whole and not (Rule.GANG in self.rules and job.is_gang and total - lost < job.least):
            return
        shift.whole.add(job.index)
        for i in running:
            for other, k in self.question.podsets[i].current.items():
                more = k - shift.left.get(i, {}).get(other, 0)
                if more:
                    self.count(shift.left, (i, other), more)
                    free[other.node] += more * self.requests[i]

    def move(self, shift: Shift, free: Ints, closed: Sequence[int]) -> bool:
        """Find other nodes for pods that move, the largest first; smaller ones make room there."""
        everywhere = ~mask_of(len(free), closed)
        asked = self.requests[[s for s, _ in shift.moving]].sum(axis=0)
        if bool((np.clip(free[everywhere], 0, UNLIMITED // len(free)).sum(axis=0) < asked).any()):
            return False
        heap: list[tuple[int, Pod]] = []
        for _ in range(_MOST_MOVES):
            while shift.moving:
                pod = shift.moving.pop()
                heapq.heappush(heap, (-int(self.sizes[pod[0]]), pod))
            if not heap:
                return True
            s, _ = heapq.heappop(heap)[1]
            ask, allowed = self.requests[s], everywhere & self._admits(s)
            fits = allowed & (free >= ask).all(axis=1)
            if fits.any():
                nodes = np.flatnonzero(fits)
                spare = free[nodes][:, ask > 0]
                n = int(nodes[np.where(spare < UNLIMITED // 2, spare, 0).sum(axis=1).argmin()])
            elif (found := self._emptied(shift, free, s, allowed)) is not None:
                n, out = found
                for other in out:
                    self.leave(shift, free, other)
            else:
                return False
            free[n] -= ask
            self.count(shift.arrived, (s, Spot(n)), 1)
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
        found = np.zeros_like(self.capacity)
        for n, pods in enumerate(self.pods_on):
            for s, _ in pods:
                if self.modes[s] is False:
                    found[n] += self.requests[s]
        return found

    def _emptied(
        self, shift: Shift, free: Ints, s: int, allowed: Mask
    ) -> tuple[int, list[Pod]] | None:
        """Node where smaller pods that may move would leave room, those that lose least first."""
        ask, size = self.requests[s], int(self.sizes[s])
        may = np.flatnonzero(allowed & (free + self._lighter >= ask).all(axis=1))
        short = np.maximum(ask - free[may], 0)[:, ask > 0]
        weighed = (short * 1000 // np.maximum(ask[ask > 0], 1)).max(axis=1, initial=0)
        best: tuple[int, int, list[Pod]] | None = None
        for n in may[np.lexsort((may, weighed))][:_LOOKS].tolist():
            there, out, lost = free[n].copy(), [], 0
            for pod in self.pods_on[n]:
                if bool((there >= ask).all()):
                    break
                mine = int(self.sizes[pod[0]])
                if self.modes[pod[0]] is False and 0 < mine < size and self.there(shift, pod):
                    there += self.requests[pod[0]]
                    lost += mine
                    out.append(pod)
            if bool((there >= ask).all()) and (best is None or lost < best[0]):
                best = lost, n, out
        return None if best is None else (best[1], best[2])

    def placement(self, shift: Shift, changed: dict[int, Spots]) -> Placement:
        """Return where pods are after all that; ``changed`` is of others besides."""
        for s in {*shift.left, *shift.arrived}:
            there = dict(self.question.podsets[s].current)
            for spot, k in shift.left.get(s, {}).items():
                there[spot] -= k
            for spot, k in shift.arrived.get(s, {}).items():
                there[spot] = there.get(spot, 0) + k
            changed[s] = {spot: k for spot, k in there.items() if k}
        return self.question.current.replace(changed)


class Emptying(Displacement):
    """Empties nodes by moves alone."""

    def __init__(self, question: Instance) -> None:
        rules = [rule for rule in Rule if question.on(rule)]
        requests = [podset.requests for podset in question.podsets if podset.running]
        super().__init__(question, rules, np.array(requests, dtype=np.int64).sum(axis=0))
        self.stuck = {
            spot.node
            for podset in question.podsets
            if not podset.daemon and self.modes[podset.index] is None
            for spot in podset.current
        }
        """Nodes that pods stay on which may not move."""
        self.used = {
            spot.node for podset in question.podsets if not podset.daemon for spot in podset.current
        }

    def emptied(self, nodes: Iterable[int], closed: Iterable[int] = ()) -> Placement | None:
        """Return where pods are once those that may have left some nodes, for none that is closed.

        ``None`` if they find no place.
        """
        leaving, free, shift = sorted(nodes), self.standing.copy(), Shift()
        for n in leaving:
            for pod in self.pods_on[n]:
                self.leave(shift, free, pod)
        if not self.move(shift, free, [*leaving, *closed]):
            return None
        return self.placement(shift, {})
