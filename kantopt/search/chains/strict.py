"""The priority rule on counts: victims do not fit back, and their room is kept for others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from kantopt.search.chains.packing import Packing
from kantopt.search.shapes import Ints
from kantopt.verify.step import Step

Came = tuple[int, Ints]
"""A job, and what those of its pods ask for that have come to a node."""


class Evictions:
    """Whether those who are gone gave way to more important new pods; errs on the side of no.

    Pods in no group, whom chains leave where the start has them, count as well: the room of victims
    among them is kept, and those who came among them may be why a group's pod is gone.
    """

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._strict = packing.scope.instance.strict
        self._gone: dict[int, list[tuple[int, Ints]]] = defaultdict(list)
        """Per node, priority and requests of victims in no group."""
        self._came: dict[int, list[Came]] = defaultdict(list)
        """Per node, who of no group has come."""
        self._together: dict[int, list[int]] = {}
        """Groups of each job whose victims come back together, if it has no pods outside."""
        if self._strict:
            self._look_outside()
            self._look_for_gangs()
        self._priorities = {priority for gone in self._gone.values() for priority, _ in gone}

    def _look_outside(self) -> None:
        scope = self._packing.scope
        step = Step(scope.instance, scope.instance.current, scope.start)
        active = {s for group in scope.groups for s in group.podsets}
        for s in step.changed:
            if s in active:
                continue
            job, asked = scope.instance.job_of(s), np.array(scope.request(s), dtype=np.int64)
            for spot, pods in step.arrivals[s].items():
                self._came[spot.node].append((job.index, pods * asked))
            for spot, pods in step.departures[s].items() if step.evicted(s) else ():
                self._gone[spot.node].append((job.priority, pods * asked))

    def _look_for_gangs(self) -> None:
        scope, groups = self._packing.scope, defaultdict[int, list[int]](list)
        for g, group in enumerate(scope.groups):
            groups[group.job].append(g)
        for j, theirs in groups.items():
            job = scope.instance.jobs[j]
            outside = {*job.podsets} - {s for g in theirs for s in scope.groups[g].podsets}
            together = job.is_gang or job.all_victims
            if together and not any(scope.start.podsets[s] for s in outside):
                self._together[j] = theirs

    def hold(self) -> bool:
        """Whether every eviction is right, as the pods of the groups are placed now.

        Which pods of a group on a node are new is not said by counts: all that are not at home may
        be.
        """
        if not self._strict:
            return True
        packing = self._packing
        instance, groups = packing.scope.instance, packing.scope.groups
        evicted = [g for g, k in enumerate(packing.placed) if k < packing.running[g]]
        if not (evicted or self._gone):
            return True
        nodes = {n for g in evicted for n in packing.vacant_homes(g)}
        arrived = {n: list(self._arrived(n)) for n in (*nodes, *(self._gone.keys() - nodes))}
        if self._fit_back(evicted, arrived) or any(self._beside_lesser(g) for g in evicted):
            return False
        priorities = {instance.jobs[groups[g].job].priority for g in evicted}
        return all(
            self._kept(evicted, arrived, priority) for priority in priorities | self._priorities
        )

    def _fit_back(self, evicted: list[int], arrived: dict[int, list[Came]]) -> bool:
        """Whether victims fit where they were: all of a gang that is gone, else any of them."""
        packing, gangs = self._packing, defaultdict[int, list[tuple[int, int]]](list)
        for g in evicted:
            job, homes = packing.scope.groups[g].job, packing.vacant_homes(g)
            if self._gone_whole(job):
                gangs[job] += [(g, n) for n in homes]
            elif any(self._fits(g, n, arrived[n]) for n in homes):
                return True
        units = gangs.values()
        return any(all(self._fits(g, n, arrived[n]) for g, n in unit) for unit in units)

    def _gone_whole(self, job: int) -> bool:
        """Whether none of a gang's pods are left: they would come back together."""
        groups = self._together.get(job)
        return groups is not None and not any(self._packing.placed[i] for i in groups)

    def _fits(self, g: int, n: int, arrived: list[Came]) -> bool:
        """Whether one pod of a group fits where it was, without arrivals that may not evict it."""
        packing, instance = self._packing, self._packing.scope.instance
        free = packing.free[: packing.own, n].copy()
        for j, asked in arrived:
            if not instance.may_evict_for(j, packing.scope.groups[g].job):
                free += asked
        return bool((free >= packing.ask[g, : packing.own]).all()) and not self._over_quota(g)

    def _over_quota(self, g: int) -> bool:
        """Whether a victim has no quota to come back, and has lost it to nobody lesser."""
        packing, instance = self._packing, self._packing.scope.instance
        if packing.guards.none or not packing.guards.keeps_out(g):
            return False
        job = packing.scope.groups[g].job
        queue = instance.jobs[job].queue
        rivals = () if queue is None else instance.rivals(queue)
        came = {j for each in self._came.values() for j, _ in each}
        came |= {packing.scope.groups[i].job for i, _ in packing.away()}
        lesser = (j for j in came if not instance.may_evict_for(j, job))
        return not any(instance.jobs[j].queue in rivals for j in lesser)

    def _arrived(self, n: int) -> Iterator[Came]:
        """Who is on a node that does not run there now."""
        packing = self._packing
        for i in sorted(packing.slot[n]):
            more = packing.on[i].get(n, 0) - packing.home[i].get(n, 0)
            if more > 0:
                yield packing.scope.groups[i].job, more * packing.ask[i, : packing.own]
        yield from self._came.get(n, ())

    def _beside_lesser(self, g: int) -> bool:
        """Whether pods have come that may not evict a victim and might mind it, were it back."""
        packing = self._packing
        if packing.admission is None:
            return False
        instance, groups = packing.scope.instance, packing.scope.groups
        return any(
            not instance.may_evict_for(groups[i].job, groups[g].job)
            and any(pods > packing.home[i].get(n, 0) for n, pods in packing.on[i].items())
            for i in packing.admission.beside(g)
        )

    def _kept(self, evicted: list[int], arrived: dict[int, list[Came]], priority: int) -> bool:
        """Whether those who may not evict a priority fit beside its victims, were these back."""
        packing, back = self._packing, dict[int, Ints]()
        jobs, own = packing.scope.instance.jobs, packing.own
        for g in evicted:
            if jobs[packing.scope.groups[g].job].priority >= priority:
                for n in packing.vacant_homes(g):
                    missing = packing.home[g][n] - packing.on[g].get(n, 0)
                    free = back.get(n, packing.free[:own, n])
                    back[n] = free - missing * packing.ask[g, :own]
        for n, gone in self._gone.items():
            for theirs, asked in gone:
                if theirs >= priority:
                    back[n] = back.get(n, packing.free[:own, n]) - asked
        for n, free in back.items():
            asks = np.zeros(len(free), dtype=np.bool_)
            for j, asked in arrived[n]:
                if jobs[j].may_preempt and jobs[j].priority > priority:
                    free = free + asked
                else:
                    asks |= asked > 0
            if (free[asks] < 0).any():
                return False
        return True
