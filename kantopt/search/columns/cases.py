"""What may leave each node: cases that branch and bound enumerates for all nodes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kantopt.search.columns.multipliers import Multipliers
from kantopt.search.columns.program import Program
from kantopt.search.shapes import Ints, Mask

MOST_CASES = 20_000
"""Cases that are kept from one step to the next."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Pods that leave a node, case by case (M).

    Attributes
    ----------
    node
        Node of each case; (M,).
    room
        Room there once they have left, at least 0; (R, M).
    spent
        What it costs that they leave; (M,).
    outs
        Pods that leave per spot of the node; (M, width).
    left_out
        Per node, what no case gains more than that was dropped without a look; (N,).
    """

    node: Ints
    room: Ints
    spent: Ints
    outs: Ints
    left_out: Ints

    def only(self, rows: Mask) -> Cases:
        """Return some of the cases."""
        return Cases(
            self.node[rows], self.room[:, rows], self.spent[rows], self.outs[rows], self.left_out
        )


class Leaving:
    """Groups at home on each node, and what they leave free.

    Attributes
    ----------
    spots
        Groups that may leave each node; the number of groups where there is none; (N, width).
    pods
        Pods of theirs; (N, width).
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        loose = np.where(program.still[:, None], 0, program.home)
        groups, nodes = loose.shape
        self.free: Ints = program.room - program.ask @ program.home
        width = max(1, int((loose > 0).sum(axis=0).max(initial=0)))
        self.spots: Ints = np.full((nodes, width), groups, dtype=np.int64)
        for n in range(nodes):
            here = np.flatnonzero(loose[:, n])
            self.spots[n, : len(here)] = here
        nobody = np.zeros((1, nodes), dtype=np.int64)
        self.pods: Ints = np.vstack([loose, nobody])[self.spots, np.arange(nodes)[:, None]]
        self._ask: Ints = np.hstack([program.ask, np.zeros((len(program.ask), 1), np.int64)])
        largest = np.maximum(program.room.max(axis=1, keepdims=True), 1)
        self._room: Ints = np.minimum(self._ask, largest)

    def cases(self, multipliers: Multipliers, leave: Ints, free: Mask, most: Ints) -> Cases:
        """Enumerate what may leave each node, as long as what can arrive then may be worth it.

        Parameters
        ----------
        multipliers
            Of what may arrive.
        leave
            Cost of a pod that leaves; (G,).
        free
            Groups whose pods cost no more where they leave than they are worth where they
            arrive: they all leave, those that had better stay arrive again; (G,).
        most
            Gains per node that are of no interest, nor are lower ones; (N,).
        """
        nodes, width = self.spots.shape
        cost, free = np.append(leave, 0), np.append(free, False)
        gain = multipliers.worth(self._room) - cost
        hope = np.maximum(gain, 0)[:, self.spots] * self.pods
        ahead = np.zeros((len(gain), nodes, width + 1), dtype=np.int64)
        ahead[:, :, :-1] = hope[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
        node = np.arange(nodes)
        room = self.free
        spent = np.zeros(nodes, dtype=np.int64)
        outs = np.zeros((nodes, width), dtype=np.int64)
        left_out = np.zeros(nodes, dtype=np.int64)
        for p in range(width + 1):
            bound = (multipliers.worth(np.maximum(room, 0)) + ahead[:, node, p]).min(axis=0) - spent
            keep = highest(bound, bound > most[node], MOST_CASES, node, left_out)
            node, room, spent, outs = node[keep], room[:, keep], spent[keep], outs[keep]
            if p == width:
                break
            g, pods = self.spots[node, p], self.pods[node, p]
            times = np.where(free[g], 1, pods + 1)
            parent = np.repeat(np.arange(len(node)), times)
            k = np.arange(len(parent)) - np.repeat(times.cumsum() - times, times)
            k = np.where(free[g][parent], pods[parent], k)
            node, outs = node[parent], outs[parent]
            outs[:, p] = k
            room = room[:, parent] + self._ask[:, g[parent]] * k
            spent = spent[parent] + cost[g[parent]] * k
        cases = Cases(node, np.maximum(room, 0), spent, outs, left_out)
        return cases.only(_undominated(cases))


def highest(bound: Ints, keep: Mask, most: int, node: Ints, left_out: Ints) -> Mask:
    """Keep no more than ``most`` of some cases, the highest; note the bounds of the others."""
    indices = np.flatnonzero(keep)
    if len(indices) <= most:
        return keep
    indices = indices[bound[indices].argsort(kind="stable")]
    dropped = indices[:-most]
    np.maximum.at(left_out, node[dropped], bound[dropped])
    chosen = np.zeros_like(keep)
    chosen[indices[-most:]] = True
    return chosen


def _undominated(cases: Cases) -> Mask:
    """Whether no other case of the node leaves at least as much room for at most the cost."""
    node, room, spent = cases.node, cases.room, cases.spent
    keep = np.ones(len(node), dtype=np.bool_)
    order = np.lexsort((-room.sum(axis=0), spent, node))
    if not len(node):
        return keep
    for here in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
        index = np.arange(len(here))
        worse = (index < index[:, None]) & (spent[here] <= spent[here][:, None])
        for row in room[:, here]:
            worse &= row >= row[:, None]
        keep[here] = ~worse.any(axis=1)
    return keep
