"""Which nodes to clear so that whole slices fit: in the cheapest domains the cheapest nodes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kantopt.search.shapes import Ints


@dataclass(frozen=True, slots=True)
class Rooms:
    """What nodes have room for, in pods, arrays by node.

    ``now`` as they are, ``could`` if they were cleared at the price of ``toll``; ``domain`` is that
    of the level of slices, -1 for none.
    """

    now: Ints
    could: Ints
    toll: Ints
    domain: Ints


def nodes_for_slices(
    rooms: Rooms, pods: int, size: int, frees: Callable[[int], bool]
) -> Iterator[list[int]]:
    """Choose nodes to clear for slices of one size, at first the cheapest, then more and more.

    Room that a domain has beyond whole slices is worth nothing, so it is slices that are paid for:
    again and again the next slice of the domain where it costs least.

    Parameters
    ----------
    pods
        Pods to place, in slices of ``size`` each.
    frees
        Says of a node whether clearing it is possible.
    """
    missing = -(-pods // size)
    open_now: list[tuple[int, int, list[int], Iterator[tuple[int, list[int]]]]] = []
    for d in np.unique(rooms.domain[(rooms.domain >= 0) & (rooms.could > 0)]).tolist():
        nodes = np.flatnonzero(rooms.domain == d)
        missing -= int(rooms.now[nodes].sum()) // size
        further = _further(rooms, nodes, size, frees)
        if first := next(further, None):
            open_now.append((first[0], d, first[1], further))
    heapq.heapify(open_now)
    chosen: dict[int, list[int]] = {}
    while open_now:
        _, d, nodes_of_d, further = heapq.heappop(open_now)
        chosen[d] = nodes_of_d
        missing -= 1
        if missing <= 0:
            yield sorted(n for some in chosen.values() for n in some)
        if after := next(further, None):
            heapq.heappush(open_now, (after[0], d, after[1], further))


def _further(
    rooms: Rooms, nodes: Ints, size: int, frees: Callable[[int], bool]
) -> Iterator[tuple[int, list[int]]]:
    """For each slice more in a domain: what it costs, and all nodes to clear until then."""
    gain = rooms.could[nodes] - rooms.now[nodes]
    there = int(rooms.now[nodes].sum())
    able = np.flatnonzero(gain > 0)
    order = able[np.lexsort((able, rooms.toll[nodes[able]] * 1000 // gain[able]))]
    cost, chosen, slices = 0, list[int](), there // size
    for k in order.tolist():
        n = int(nodes[k])
        if not frees(n):
            continue
        chosen.append(n)
        cost += int(rooms.toll[n])
        there += int(gain[k])
        if there // size > slices:
            yield cost, list(chosen)
            cost, slices = 0, there // size
