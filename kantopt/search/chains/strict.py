"""The priority rule on counts: victims do not fit back, and their room is kept for others."""

from __future__ import annotations

import numpy as np

from kantopt.problem.job import Job
from kantopt.search.chains.packing import Packing
from kantopt.search.shapes import Ints


def evictions_hold(packing: Packing) -> bool:
    """Whether every evicted pod gave way to a more important new one; errs on the side of no.

    Which pods of a group on a node are new is not said by counts: all that are not at home may be.
    """
    instance, groups = packing.scope.instance, packing.scope.groups
    if not instance.strict:
        return True
    evicted = [g for g, k in enumerate(packing.placed) if k < packing.running[g]]
    if not evicted:
        return True
    arrived = {n: _arrived(packing, n) for g in evicted for n in packing.vacant_homes(g)}
    own = packing.own
    for g in evicted:
        for n in packing.vacant_homes(g):
            free = packing.free[:own, n].copy()
            for i, pods in arrived[n]:
                if not instance.may_evict_for(groups[i].job, groups[g].job):
                    free += pods * packing.ask[i, :own]
            if (free >= packing.ask[g, :own]).all():
                return False
        if _beside_lesser(packing, g):
            return False
    priorities = {_job(packing, g).priority for g in evicted}
    return all(_kept(packing, evicted, arrived, priority) for priority in priorities)


def _beside_lesser(packing: Packing, g: int) -> bool:
    """Whether pods have come that may not evict a victim and might mind it, were it put back."""
    if packing.admission is None:
        return False
    instance, groups = packing.scope.instance, packing.scope.groups
    return any(
        not instance.may_evict_for(groups[i].job, groups[g].job)
        and any(pods > packing.home[i].get(n, 0) for n, pods in packing.on[i].items())
        for i in packing.admission.beside(g)
    )


def _job(packing: Packing, g: int) -> Job:
    return packing.scope.instance.jobs[packing.scope.groups[g].job]


def _arrived(packing: Packing, n: int) -> list[tuple[int, int]]:
    """Groups of which more pods are on a node than run there now, and how many more."""
    found = []
    for i in sorted(packing.slot[n]):
        more = packing.on[i].get(n, 0) - packing.home[i].get(n, 0)
        if more > 0:
            found.append((i, more))
    return found


def _kept(
    packing: Packing,
    evicted: list[int],
    arrived: dict[int, list[tuple[int, int]]],
    priority: int,
) -> bool:
    """Whether those who may not evict a priority fit beside its victims, were these put back."""
    back: dict[int, Ints] = {}
    own = packing.own
    for g in evicted:
        if _job(packing, g).priority >= priority:
            for n in packing.vacant_homes(g):
                missing = packing.home[g][n] - packing.on[g].get(n, 0)
                free = back.get(n, packing.free[:own, n])
                back[n] = free - missing * packing.ask[g, :own]
    for n, free in back.items():
        asked = np.zeros(len(free), dtype=np.bool_)
        for i, pods in arrived[n]:
            job = _job(packing, i)
            if job.may_preempt and job.priority > priority:
                free = free + pods * packing.ask[i, :own]
            else:
                asked |= packing.ask[i, :own] > 0
        if (free[asked] < 0).any():
            return False
    return True
