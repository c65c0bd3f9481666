"""Running pods that may give way: which, at what cost, and how they go and come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.job import Job
from kantopt.schema.model import Rule
from kantopt.search.as_if_gone import as_if_gone
from kantopt.search.preemption.full import Full
from kantopt.search.preemption.gone import NOBODY, Gone, Level
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
        self._gangs = instance.on(Rule.GANG)
        self.jobs: list[Job] = []
        """Jobs of which at least one pod may be evicted, if something important needs the room."""
        self.able: dict[int, list[int]] = {}
        """Their pod sets of which pods may be evicted."""
        self._may = freedom_of(instance)
        top = max((job.priority for job in instance.jobs), default=0)
        for job in instance.jobs:
            if job.priority >= top:
                continue
            running = instance.running_of(job.index)
            going = [s for s in running if self._may.evictions[s]]
            if going and not (len(going) < len(running) and self.goes_whole(job)):
                self.jobs.append(job)
                self.able[job.index] = going
        self._able = frozenset(s for going in self.able.values() for s in going)
        self._priorities = sorted({job.priority for job in self.jobs})
        self._here: dict[int, list[tuple[int, Spot]]] = {}
        for s in sorted(self._able):
            for spot in instance.podsets[s].current:
                self._here.setdefault(spot.node, []).append((s, spot))
        self._on_node: dict[int, list[tuple[int, int, Spot]]] = {}
        tied = self._rigid | {job.index for job in self.jobs if self._gang(job)}
        self.gone = Gone(state, self.able, tied, self.goes_whole, self.spare)
        self._bound = {job.index for job in self.jobs if self._held_elsewhere(job)}
        """Jobs for whose return more than the room on their nodes counts."""

    def on_node(self, n: int) -> list[tuple[int, int, Spot]]:
        """Priority, pod set and spot of the pods on a node that may be evicted, in that order.

        Those that have moved there come last.
        """
        if n not in self._on_node:
            self._on_node[n] = self._in_order(self._here.get(n, ()))
        moved = [x for x in self.state.moved_on.get(n, ()) if x[0] in self._able]
        return [*self._on_node[n], *self._in_order(moved)] if moved else self._on_node[n]

    def _in_order(self, pods: Iterable[tuple[int, Spot]]) -> list[tuple[int, int, Spot]]:
        found = [(self.state.instance.job_of(s).priority, s, x) for s, x in pods]
        return sorted(found, key=lambda each: (each[0], self._toll(each[1]), each[1], each[2]))

    def goes_whole(self, job: Job) -> bool:
        """Whether all of a job goes if a pod of it does, as things stand."""
        return job.index in self._rigid or (self._gang(job) and self._slack(job) == 0)

    def _toll(self, s: int) -> int:
        """Pods that go if one of a pod set does."""
        job = self.state.instance.job_of(s)
        if self.goes_whole(job):
            return sum(self.state.placed[o] for o in job.podsets)
        return 1

    def _gang(self, job: Job) -> bool:
        return job.is_gang and self._gangs

    def spare(self, job: Job) -> int:
        """Pods that a gang can do without, if it gives up any but as a whole."""
        return self._slack(job) if self._gang(job) and job.index not in self._rigid else 0

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
        return [level for level in self._priorities if level < priority]

    def levels_below(self, priority: int) -> list[Level]:
        """Who may go for a job of some priority, from the least harm on.

        Where tiers have it so, those first whom gangs can do without.
        """
        below = self.priorities_below(priority)
        spare = sorted(
            {j.priority for j in self.jobs if j.priority < priority and self.spare(j)}
            if self.gone.spares_first
            else ()
        )
        top = spare[-1] if spare else NOBODY
        return [Level(NOBODY, most) for most in spare] + [
            Level(most, top if top > most else None) for most in below
        ]

    def may_go(self, level: Level, priority: int, s: int) -> bool:
        """Whether a pod of a pod set and priority is among those who may go, as things stand."""
        if level.spares(priority):
            return self.spare(self.state.instance.job_of(s)) > 0
        return priority <= level.priority

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
        return self._limit - self.gone.pods()

    def evict(self, s: int, spot: Spot, most: int = 2**62, *, level: Level | None = None) -> bool:
        """Evict the pods of a pod set on a spot, so many at most, with all that must go along.

        A gang gives up members that it can spare; if it has none, it goes as a whole, if that may
        go. Returns whether pods are left that could go if asked for again.
        """
        state = self.state
        job = state.instance.job_of(s)
        pods = state.spots[s].get(spot, 0)
        bound = any(state.placed[o] for o in job.podsets if not state.instance.podsets[o].running)
        if not pods or bound:
            return False
        spare = self._slack(job, s) if self._gang(job) else pods
        if job.index in self._rigid or not spare:
            if level is None or not level.spares(job.priority):
                self._evict_job(job)
            return False
        going = min(pods, spare, most, self._budget_left(s), self._limit_left())
        if going > 0:
            state.add(s, spot, -going)
        return 0 < going < pods

    def _evict_job(self, job: Job) -> None:
        state = self.state
        mark = state.mark()
        for s in job.podsets:
            if not state.placed[s]:
                continue
            if (
                not self._may.evictions[s]
                or min(self._budget_left(s), self._limit_left()) < state.placed[s]
            ):
                state.undo(mark)
                return
            for spot, pods in sorted(state.spots[s].items()):
                state.add(s, spot, -pods)

    def units(self, nodes: Iterable[int], full: Full | None = None) -> Iterator[tuple[Job, Unit]]:
        """Evicted pods as they would come back: a gang that is gone as a whole, others singly.

        Only those that were on some nodes at least in part, and those that a quota or neighbours
        keep away as well.

        Parameters
        ----------
        nodes
            The nodes.
        full
            Leaves out places that are known to have no room for who left them.
        """
        for j, spots in sorted(self.gone.by_job(set(nodes), self._bound)):
            job = self.state.instance.jobs[j]
            if self.is_whole(job):
                unit = self.gone.of(job)
                if full is None or not any(full.known(s, spot, whole=True) for s, spot in unit):
                    yield job, unit
                continue
            for s, spot in sorted(spots):
                if full is None or not full.known(s, spot, whole=False):
                    for _ in range(self.gone.at(s, spot)):
                        yield job, {(s, spot): 1}

    def is_whole(self, job: Job) -> bool:
        """Whether a job whose pods belong together is gone, so that all come back or none."""
        together = job.is_gang or job.all_victims
        return together and not any(self.state.placed[s] for s in job.podsets)

    def _held_elsewhere(self, job: Job) -> bool:
        limited = job.queue is not None and self.state.instance.on(Rule.QUOTA)
        return limited or any(self.state.neighbours.concern(s) for s in job.podsets)

    def without(self, level: Level) -> AbstractContextManager[None]:
        """Pretend that all pods who may go are gone from their nodes."""
        room = self.gone.room(level)
        return as_if_gone(self.state, room.free, room.devices)

    def shared_costs(self, level: Level, most: int, domain: Ints) -> tuple[Ints, Ints]:
        """Cost by node of evicting all who may go, where many nodes are wanted.

        A gang that must go as a whole leaves all its nodes at once: each bears a part of its cost,
        of so many nodes of its domain at most. Nodes in no domain, -1, are left out.

        Returns
        -------
        tuple
            The costs, and for each node the last of these gangs, -1 for none.
        """
        state = self.state
        costs: Ints = np.zeros(state.size, dtype=np.int64)
        gang: Ints = np.full(state.size, -1, dtype=np.int64)
        whole: dict[tuple[int, int], set[int]] = {}
        here = self._here.keys() | self.state.moved_on.keys()
        for n in sorted(n for n in here if domain[n] >= 0):
            for priority, s, spot in self.on_node(n):
                pods = state.spots[s].get(spot, 0)
                if not pods or not self.may_go(level, priority, s):
                    continue
                job = state.instance.job_of(s)
                if self.goes_whole(job):
                    whole.setdefault((job.index, int(domain[n])), set()).add(n)
                else:
                    costs[n] += self.gone.toll(s, level) * pods
        for (j, _), nodes in sorted(whole.items()):
            job = state.instance.jobs[j]
            cost = sum(self.gone.toll(s, level) * state.placed[s] for s in job.podsets)
            there = sorted(nodes)
            costs[there] += cost // min(len(there), most)
            gang[there] = j
        return costs, gang

    def costs(self, level: Level) -> Ints:
        """Cost by node of evicting all who may go; whole gangs where they must go."""
        return self.gone.room(level).costs
