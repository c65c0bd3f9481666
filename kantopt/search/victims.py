"""Running pods that may give way: which, at what cost, and how they go and come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.schema.model import Rule
from kantopt.search.shapes import Ints
from kantopt.search.state import State

Unit = dict[tuple[int, Spot], int]
"""Pods that go or come back together, by pod set and spot."""


class Victims:
    """Evicts running pods of a state and puts them back, within budgets, limits and gangs."""

    def __init__(self, state: State) -> None:
        self.state = state
        instance = state.instance
        self._limit = instance.model.limits.evictions if instance.on(Rule.LIMITS) else None
        sliced = {need.job for need in instance.topology_needs if need.slice_level is not None}
        self._rigid = {
            job.index
            for job in instance.jobs
            if (job.all_victims and instance.on(Rule.GANG_VICTIMS)) or job.index in sliced
        }
        self.jobs: list[Job] = []
        """Jobs of which at least one pod may be evicted, if something important needs the room."""
        self.on_node: dict[int, list[tuple[int, int, Spot]]] = {}
        """Priority, pod set and spot of pods that may be evicted."""
        top = max((job.priority for job in instance.jobs), default=0)
        for job in instance.jobs:
            running = [s for s in job.podsets if instance.podsets[s].running]
            able = [s for s in running if self._evictable(s)]
            if job.priority >= top or not able:
                continue
            if self._must_go_whole(job) and len(able) < len(running):
                continue
            self.jobs.append(job)
            for s in able:
                for spot in sorted(instance.podsets[s].current):
                    self.on_node.setdefault(spot.node, []).append((job.priority, s, spot))
        for pods in self.on_node.values():
            pods.sort(key=lambda x: (x[0], self._toll(x[1]), x[1], x[2]))
        self._extra: dict[int, tuple[int, Ints, Ints, Ints]] = {}
        self.version = 0
        """Which pods are evicted; each set of them has a number of its own."""
        self._versions = count(1)

    def changed(self) -> None:
        """Note that pods were evicted or put back."""
        self.version = next(self._versions)

    def _evictable(self, s: int) -> bool:
        instance = self.state.instance
        podset = instance.podsets[s]
        if not podset.preemptible and instance.on(Rule.PINNED):
            return False
        if not instance.on(Rule.DISRUPTION):
            return True
        if len(podset.budgets) > 1:
            return False
        return all(instance.budgets[b].allowed for b in podset.budgets)

    def _must_go_whole(self, job: Job) -> bool:
        return job.index in self._rigid or (self._gang(job) and self._slack(job) == 0)

    def _toll(self, s: int) -> int:
        """Pods that go if one of a pod set does."""
        job = self.state.instance.job_of(s)
        if self._must_go_whole(job):
            return sum(self.state.placed[o] for o in job.podsets)
        return 1

    def _gang(self, job: Job) -> bool:
        return job.is_gang and self.state.instance.on(Rule.GANG)

    def _slack(self, job: Job, s: int | None = None) -> int:
        """Pods that a gang can lose, at most, before it falls below its minimum."""
        state = self.state
        placed = [state.role_placed(job.index, i) for i in range(len(job.roles))]
        if sum(placed) < job.min_count:
            return 0
        spare = [k - role.min_count for k, role in zip(placed, job.roles, strict=True)]
        if min(spare) < 0:
            return 0
        total = sum(placed) - job.min_count
        if s is None:
            return min(total, max(spare))
        return min(total, spare[state.instance.podsets[s].role])

    def priorities_below(self, priority: int) -> list[int]:
        """Priorities of jobs that may be evicted for a job of some priority, the lowest first."""
        return sorted({job.priority for job in self.jobs if job.priority < priority})

    def cost(self, s: int, pods: int) -> int:
        """Cost of evicting pods of a pod set, as the evictions metric counts it."""
        return self.state.instance.podsets[s].disruption_cost * pods

    def evicted(self, s: int) -> int:
        """Pods of a running pod set that are evicted now."""
        podset = self.state.instance.podsets[s]
        return podset.count - self.state.placed[s] if podset.running else 0

    def _budget_left(self, s: int) -> int:
        instance = self.state.instance
        left = instance.podsets[s].count
        if instance.on(Rule.DISRUPTION):
            for b in instance.podsets[s].budgets:
                budget = instance.budgets[b]
                left = min(left, budget.allowed - sum(self.evicted(o) for o in budget.podsets))
        return left

    def _limit_left(self) -> int:
        if self._limit is None:
            return 2**62
        return self._limit - sum(self.evicted(s) for job in self.jobs for s in job.podsets)

    def evict(self, s: int, spot: Spot) -> bool:
        """Evict the pods of a pod set on a spot, with all that must go along.

        A gang gives up members that it can spare; if it has none, it goes as a whole. Returns
        whether pods are left that could go if asked for again.
        """
        state = self.state
        job = state.instance.job_of(s)
        pods = state.spots[s].get(spot, 0)
        bound = any(state.placed[o] for o in job.podsets if not state.instance.podsets[o].running)
        if not pods or bound:
            return False
        spare = self._slack(job, s) if self._gang(job) else pods
        if job.index in self._rigid or not spare:
            self._evict_job(job)
            return False
        going = min(pods, spare, self._budget_left(s), self._limit_left())
        if going > 0:
            state.add(s, spot, -going)
            self.changed()
        return 0 < going < pods

    def _evict_job(self, job: Job) -> None:
        state = self.state
        mark = state.mark()
        for s in job.podsets:
            if not state.placed[s]:
                continue
            podset = state.instance.podsets[s]
            fine = podset.running and self._evictable(s)
            if not fine or min(self._budget_left(s), self._limit_left()) < state.placed[s]:
                state.undo(mark)
                return
            for spot, pods in sorted(state.spots[s].items()):
                state.add(s, spot, -pods)
        self.changed()

    def units(self) -> Iterator[tuple[Job, Unit]]:
        """Evicted pods as they would come back: a gang that is gone as a whole, others singly."""
        state = self.state
        for job in self.jobs:
            gone = [s for s in job.podsets if self.evicted(s)]
            if not gone:
                continue
            placed = any(state.placed[s] for s in job.podsets)
            if (job.is_gang or job.all_victims) and not placed:
                yield (
                    job,
                    {
                        (s, spot): pods
                        for s in gone
                        for spot, pods in state.instance.podsets[s].current.items()
                    },
                )
                continue
            for s in gone:
                for spot, pods in sorted(state.instance.podsets[s].current.items()):
                    for _ in range(pods - state.spots[s].get(spot, 0)):
                        yield job, {(s, spot): 1}

    @contextmanager
    def without(self, priority: int) -> Iterator[None]:
        """Pretend that all pods up to a priority that may be evicted are gone from their nodes."""
        _, free, devices, _ = self._room_of(priority)
        self.state.free += free
        self.state.devices += devices
        try:
            yield
        finally:
            self.state.free -= free
            self.state.devices -= devices

    def costs(self, priority: int) -> Ints:
        """Cost by node of evicting everything up to a priority; whole gangs where they must go."""
        return self._room_of(priority)[3]

    def _room_of(self, priority: int) -> tuple[int, Ints, Ints, Ints]:
        known = self._extra.get(priority)
        if known is not None and known[0] == self.version:
            return known
        state = self.state
        free, devices = np.zeros_like(state.free), np.zeros_like(state.devices)
        costs: Ints = np.zeros(state.size, dtype=np.int64)
        for job in self.jobs:
            if job.priority > priority:
                continue
            whole = None
            if self._must_go_whole(job):
                whole = sum(self.cost(s, state.placed[s]) for s in job.podsets)
            for s in job.podsets:
                if not state.instance.podsets[s].running or not self._evictable(s):
                    continue
                for spot, pods in state.spots[s].items():
                    free[:, spot.node] += pods * state.shape[s].request
                    for need in state.shape[s].needs:
                        for d in spot.devices:
                            if (
                                d < state.device_class.shape[1]
                                and state.device_class[spot.node, d] == need.device_class
                            ):
                                for row, amount in need.ask:
                                    devices[row, spot.node, d] += pods * amount
                    costs[spot.node] += self.cost(s, pods) if whole is None else whole
        self._extra[priority] = (self.version, free, devices, costs)
        return self._extra[priority]
