"""Topology domains as arrays, and which of them to take: Kueue's BestFit."""

from __future__ import annotations

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.search.shapes import Ints, Mask

Share = tuple[int, int]
"""Domain and pods for it."""


class Domains:
    """Domain of each node per level, -1 for none, and the domains above."""

    def __init__(self, instance: Instance) -> None:
        topology = instance.topology
        self.of: list[Ints] = [
            np.array([-1 if d is None else d for d in level], dtype=np.int64)
            for level in topology.domain_of
        ]
        self._first = [
            np.array([domain.nodes[0] for domain in level], dtype=np.int64)
            for level in topology.domains
        ]

    def mask(self, level: int, domain: int) -> Mask:
        """Nodes of a domain."""
        return np.asarray(self.of[level] == domain, dtype=np.bool_)

    def totals(self, level: int, amounts: Ints) -> Ints:
        """Sum amounts of nodes by domain; nodes in no domain are left out."""
        inside = self.of[level] >= 0
        total: Ints = np.zeros(len(self._first[level]), dtype=np.int64)
        np.add.at(total, self.of[level][inside], amounts[inside])
        return total

    def cheapest(self, level: int, gain: Ints, cost: Ints, missing: Ints) -> Ints:
        """What it costs by domain to gain what is missing there, the cheapest nodes first.

        Parameters
        ----------
        gain, cost
            What each node brings, and what that costs.
        missing
            What each domain is to gain.
        """
        of = self.of[level]
        nodes = np.flatnonzero((gain > 0) & (of >= 0))
        nodes = nodes[np.lexsort((nodes, cost[nodes] / gain[nodes], of[nodes]))]
        before = np.cumsum(gain[nodes]) - gain[nodes]
        _, first, which = np.unique(of[nodes], return_index=True, return_inverse=True)
        taken = nodes[before - before[first][which] < missing[of[nodes]]]
        total: Ints = np.zeros(len(self._first[level]), dtype=np.int64)
        np.add.at(total, of[taken], cost[taken])
        return total

    def parents(self, level: int, above: int) -> Ints:
        """Domain of a coarser level that each domain lies in, -1 for none: of a single node."""
        return np.asarray(self.of[above][self._first[level]], dtype=np.int64)

    def _summed(self, level: int, above: int, amounts: Ints) -> Ints:
        """Sum amounts of domains by the domain of a coarser level that they lie in."""
        parents = self.parents(level, above)
        inside = parents >= 0
        total: Ints = np.zeros(len(self._first[above]), dtype=np.int64)
        np.add.at(total, parents[inside], amounts[inside])
        return total

    def rooms(
        self, level: int, room: Ints, slice_level: int | None = None, slice_size: int = 1
    ) -> Ints:
        """Pods by domain; only whole slices count where slices are asked for below it."""
        if slice_level is None or slice_level < level:
            return self.totals(level, room)
        whole = self.totals(slice_level, room) // slice_size * slice_size
        if slice_level == level:
            return whole
        return self._summed(slice_level, level, whole)

    def fewest(self, level: int, room: Ints, pods: int, tie: Ints) -> list[Share]:
        """Return the fewest domains that hold the pods, close together, the last one the tightest.

        If all domains do not suffice they are all taken. ``tie`` decides between domains with
        equal room, the lowest first.
        """
        if not len(room):
            return []
        if int(room.max()) < pods:
            for above in range(level - 1, -1, -1):
                parents = self.parents(level, above)
                total = self._summed(level, above, room)
                choices = [
                    best_fit(np.where(parents == parent, room, 0), pods, tie)
                    for parent in np.flatnonzero(total >= pods).tolist()
                ]
                if choices:
                    anywhere = best_fit(room, pods, tie)
                    closest = min(choices, key=len)
                    return closest if len(closest) <= len(anywhere) else anywhere
        return best_fit(room, pods, tie)


def best_fit(room: Ints, pods: int, tie: Ints) -> list[Share]:
    """Take the roomiest domains while they are needed whole, then the tightest that suffices."""
    order = np.lexsort((np.arange(len(room)), tie, -room))
    shares: list[Share] = []
    for position, d in enumerate(order.tolist()):
        if pods <= 0 or room[d] <= 0:
            break
        if room[d] >= pods:
            rest = order[position:]
            enough = rest[room[rest] >= pods]
            tightest = enough[np.lexsort((enough, tie[enough], room[enough]))[0]]
            shares.append((int(tightest), pods))
            break
        shares.append((d, int(room[d])))
        pods -= int(room[d])
    return shares
