"""The put-back part of the priority rule, on counts."""

from __future__ import annotations

from kantopt.search.chains.packing import Packing


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
    bound = [g for g, k in enumerate(packing.placed) if k > packing.running[g]]
    for g in evicted:
        lesser = []
        for i in bound:
            if not instance.may_evict_for(groups[i].job, groups[g].job):
                lesser.append(i)
        for n in packing.vacant_homes(g):
            free = packing.free[:, n].copy()
            for i in lesser:
                away = packing.on[i].get(n, 0) - packing.home[i].get(n, 0)
                if away > 0:
                    free += away * packing.ask[i]
            if (free >= packing.ask[g]).all():
                return False
    return True
