"""k-exchange: several jobs that wait for one that is placed and has the GPUs that they ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import gcd

import numpy as np

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.shapes import Mask
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.verify.bounds.cover import portions

_MOST_UNITS = 200_000
"""Largest sum, in units of the common divisor, that choices are worked out for."""
_MOST_FAILED = 8
"""Choices for one exchange that find no place before it is given up."""


def exchange(
    instance: Instance, placement: Placement, tiers: Sequence[Tier], deadline: Deadline
) -> Placement:
    """Place more jobs with as many GPUs: one new job gives its nodes to several that wait.

    The largest jobs come first while jobs are placed one by one, as they must where GPUs count
    before jobs; at the end many small ones wait that would have filled the nodes of one as well.

    Parameters
    ----------
    placement
        A legal placement.
    tiers
        Nothing is done unless one of them counts jobs.

    Returns
    -------
    Placement
        The placement itself if nothing was exchanged. It breaks no rule that concerns the jobs
        themselves; whether it is legal is left to the caller.
    """
    if not any(tier.metric is Metric.UNPLACED and tier.unit == "jobs" for tier in tiers):
        return placement
    found = _Exchange(instance, placement)
    return found.state.placement() if found.run(deadline) else placement


class _Exchange:
    def __init__(self, instance: Instance, placement: Placement) -> None:
        self.instance = instance
        self.sizes = {j: size for j in range(len(instance.jobs)) if (size := _size(instance, j))}
        self._before = placement
        self.waiting: dict[tuple[int, int], list[int]] = {}
        """Jobs by priority and size. Those that may be anywhere are the easiest to place, those in
        small domains the hardest: so they come in each list."""
        for j in sorted(self.sizes, key=lambda j: (instance.closest(j), j)):
            if not self._pods(placement, j):
                kind = self._priority(j), self.sizes[j]
                self.waiting.setdefault(kind, []).append(j)

    def run(self, deadline: Deadline) -> bool:
        """Exchange as long as something is gained; return whether anything was."""
        if not self.waiting:
            return False
        self.state = State(self.instance, self._before)
        self.placer = Placer(Scores(self.state, Strategy.BEST_FIT))
        before = self.state.mark()
        for priority in sorted({priority for priority, _ in self.waiting}, reverse=True):
            placed = [
                j
                for j in self.sizes
                if self._priority(j) == priority
                and self._pods(self._before, j)
                and j not in self.instance.required
            ]
            for j in sorted(placed, key=lambda j: (-self.sizes[j], j)):
                if deadline.cuts():
                    break
                self._give_way(j)
        return self.state.mark() > before

    def _give_way(self, j: int) -> None:
        """Let as many jobs as possible of the same priority take the nodes of one."""
        pool = list(self._pool(j))
        for _ in range(_MOST_FAILED):
            chosen = self._chosen(pool, self.sizes[j])
            if len(chosen) < 2:
                return
            placed = self._place(j, chosen)
            if placed == len(chosen):
                for k in chosen:
                    self.waiting[self._priority(k), self.sizes[k]].remove(k)
                return
            kept, homeless = chosen[:placed], chosen[placed]
            pool = [k for k in pool if k in kept or not self._as_hard(k, homeless)]

    def _pool(self, j: int) -> Iterator[int]:
        """Yield who may take the nodes of a job: of each size as many as these could hold."""
        one = self.instance.jobs[j]
        for (priority, size), those in self.waiting.items():
            if priority == one.priority and size < self.sizes[j]:
                # Lesser pods may be gone from these nodes: not for one that evicts nobody.
                able = (
                    k for k in those if self.instance.jobs[k].may_preempt or not one.may_preempt
                )
                yield from islice(able, self.sizes[j] // size)

    def _as_hard(self, k: int, other: int) -> bool:
        """Whether a job is no easier to place than another."""
        closest = self.instance.closest
        return self.sizes[k] >= self.sizes[other] and closest(k) >= closest(other)

    def _chosen(self, pool: Sequence[int], total: int) -> list[int]:
        """Choose as many as add up to a total, the hardest to place first."""
        by_size: dict[int, list[int]] = {}
        for k in pool:
            by_size.setdefault(self.sizes[k], []).append(k)
        counts = most_that_add_up({size: len(jobs) for size, jobs in by_size.items()}, total)
        chosen = [k for size, n in counts.items() for k in by_size[size][:n]]
        return sorted(chosen, key=lambda k: (-self.instance.closest(k), -self.sizes[k], k))

    def _place(self, j: int, others: Sequence[int]) -> int:
        """Place others instead of a job, all or none of them; return how many found a place."""
        mark = self.state.mark()
        within = self._lift(j)
        for i, k in enumerate(others):
            if not self.placer.place(k, within=within):
                self.state.undo(mark)
                return i
        return len(others)

    def _lift(self, j: int) -> Mask:
        """Take a job away and return its nodes."""
        nodes = np.zeros(self.state.size, dtype=np.bool_)
        for s in self.instance.jobs[j].podsets:
            for spot, pods in list(self.state.spots[s].items()):
                self.state.add(s, spot, -pods)
                nodes[spot.node] = True
        return nodes

    def _priority(self, j: int) -> int:
        return self.instance.jobs[j].priority

    def _pods(self, placement: Placement, j: int) -> int:
        return sum(placement.placed(s) for s in self.instance.jobs[j].podsets)


def _size(instance: Instance, j: int) -> int:
    """Milli-GPU of a job that is new and placed as a whole or not at all; of any other 0."""
    job = instance.jobs[j]
    podsets = [instance.podsets[s] for s in job.podsets]
    if any(podset.running or not podset.gpu_milli for podset in podsets):
        return 0
    if sum(podset.count for podset in podsets) > 1 and not (
        job.is_gang and all(role.min_count == role.count for role in job.roles)
    ):
        return 0
    return sum(podset.count * podset.gpu_milli for podset in podsets)


def most_that_add_up(counts: Mapping[int, int], total: int) -> dict[int, int]:
    """Choose as many as possible whose sizes add up to a total exactly.

    Parameters
    ----------
    counts
        How many there are of each size.

    Returns
    -------
    dict
        How many are chosen of each size; empty if none add up to the total.
    """
    unit = gcd(*counts) if counts else 0
    if not unit or total % unit or total // unit > _MOST_UNITS:
        return {}
    most = np.full(total // unit + 1, -1, dtype=np.int64)
    most[0] = 0
    steps = []
    parts = ((size, k) for size, count in sorted(counts.items()) for k in portions(count))
    for size, k in parts:
        width = k * size // unit
        if width < len(most):
            with_it = np.where(most[:-width] >= 0, most[:-width] + k, -1)
            taken = with_it > most[width:]
            most[width:] = np.maximum(most[width:], with_it)
            steps.append((size, k, width, taken))
    chosen: dict[int, int] = {}
    at = total // unit
    if most[at] < 0:
        return {}
    for size, k, width, taken in reversed(steps):
        if at >= width and taken[at - width]:
            chosen[size] = chosen.get(size, 0) + k
            at -= width
    return chosen
