"""Towards contents that only count room: a pod at a time, as far as all rules let it go."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.relocation.ejection import Ejection
from kantopt.search.relocation.movers import Movers
from kantopt.search.relocation.targets import Fullest
from kantopt.search.shapes import mask_of
from kantopt.search.state import State


def steered(instance: Instance, wanted: Placement, over: Callable[[], bool]) -> Placement:
    """Return a placement near one that rules beside room refuse.

    Pods that are to leave take the places that pods of their size arrive at, whichever rules
    admit them to; those that find none go to the fullest node in use there, others leave for them.

    Parameters
    ----------
    wanted
        Where pods should be; only what moves counts, not what is bound or evicted.
    """
    state = State(instance)
    movers = Movers(state)
    fullest = Fullest(state, movers)
    leaving = list[tuple[int, Spot]]()
    arriving = defaultdict[Hashable, Counter[int]](Counter)
    for podset, spots in zip(instance.podsets, wanted.podsets, strict=True):
        if podset.running and movers.movable[podset.index]:
            for spot in {*podset.current, *spots}:
                more = spots.get(spot, 0) - podset.current.get(spot, 0)
                leaving += [(podset.index, spot)] * -more
                if more > 0:
                    arriving[podset.requests][spot.node] += more
    leaving.sort(key=lambda pod: (-fullest.size(pod[0]), pod))
    while leaving and not over():
        left = list[tuple[int, Spot]]()
        for s, spot in leaving:
            places = arriving[instance.podsets[s].requests]
            n = fullest.move(s, spot, mask_of(state.size, +places))
            if n is None:
                left.append((s, spot))
            else:
                places[n] -= 1
        if len(left) == len(leaving):
            break
        leaving = left
    used = {
        spot.node
        for podset, spots in zip(instance.podsets, wanted.podsets, strict=True)
        for spot in spots
        if not podset.daemon
    }
    mask, ejection = mask_of(state.size, used), Ejection(state, movers, fullest)
    for s, spot in leaving:
        if not over() and fullest.move(s, spot, mask) is None:
            ejection.move(s, spot, mask)
    return state.placement()
