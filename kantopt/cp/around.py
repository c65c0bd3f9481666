"""The neighbourhood of a placement: what differs from it on some nodes only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement, Spots


@dataclass(frozen=True, slots=True)
class Around:
    """A part of the placements: off these nodes everything is as in a placement."""

    placement: Placement
    nodes: frozenset[int]

    def free(self, podset: PodSet) -> int:
        """Pods of a pod set that are on the nodes or nowhere."""
        spots = self.placement.podsets[podset.index]
        return podset.count - sum(k for spot, k in spots.items() if spot.node not in self.nodes)

    def arrived(self, came: Spots) -> tuple[Counter[int], Counter[tuple[int, int]]]:
        """Of pods of a pod set that arrive, those on other nodes, and who occupies each device."""
        return counted({spot: new for spot, new in came.items() if spot.node not in self.nodes})


def counted(spots: Spots) -> tuple[Counter[int], Counter[tuple[int, int]]]:
    """Count pods by node, and by the devices of nodes that they occupy."""
    pods: Counter[int] = Counter()
    use: Counter[tuple[int, int]] = Counter()
    for spot, new in spots.items():
        pods[spot.node] += new
        for d in spot.devices:
            use[spot.node, d] += new
    return pods, use
