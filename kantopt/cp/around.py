"""The neighbourhood of a placement: what differs from it on some nodes only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kantopt.problem.cluster import Spot
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement, Spots


@dataclass(frozen=True, slots=True)
class Around:
    """A part of the placements: off these nodes everything is as in a placement.

    With ``devices``, each by node and index, so are on the nodes the pods that are not on these
    alone.
    """

    placement: Placement
    nodes: frozenset[int]
    devices: frozenset[tuple[int, int]] | None = None

    def holds(self, spot: Spot) -> bool:
        """Whether pods that the placement has on a spot stay there."""
        if spot.node not in self.nodes:
            return True
        return self.devices is not None and not (
            spot.devices and all((spot.node, d) in self.devices for d in spot.devices)
        )

    def free(self, podset: PodSet) -> int:
        """Pods of a pod set that are held nowhere."""
        spots = self.placement.podsets[podset.index]
        return podset.count - sum(k for spot, k in spots.items() if self.holds(spot))

    def arrived(self, came: Spots) -> tuple[Counter[int], Counter[tuple[int, int]]]:
        """Of pods of a pod set that arrive, those that are held, and who occupies each device."""
        return counted({spot: new for spot, new in came.items() if self.holds(spot)})


def counted(spots: Spots) -> tuple[Counter[int], Counter[tuple[int, int]]]:
    """Count pods by node, and by the devices of nodes that they occupy."""
    pods: Counter[int] = Counter()
    use: Counter[tuple[int, int]] = Counter()
    for spot, new in spots.items():
        pods[spot.node] += new
        for d in spot.devices:
            use[spot.node, d] += new
    return pods, use
