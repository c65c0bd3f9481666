"""Where pods are: the state that rules and metrics judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kantopt.problem.cluster import Spot

Spots = Mapping[Spot, int]
"""Pods on each spot; only positive numbers."""


@dataclass(frozen=True, slots=True)
class Placement:
    """How many pods of each pod set are on each spot; indexed by pod set."""

    podsets: tuple[Spots, ...]

    def placed(self, s: int) -> int:
        """Pods of a pod set that are placed."""
        return sum(self.podsets[s].values())

    def replace(self, changes: Mapping[int, Spots]) -> Placement:
        """Return the placement with the spots of some pod sets replaced."""
        return Placement(
            tuple(
                {spot: k for spot, k in changes[s].items() if k > 0} if s in changes else spots
                for s, spots in enumerate(self.podsets)
            )
        )

    def plus(self, changes: Iterable[tuple[int, Spot, int]]) -> Placement:
        """Return the placement with more pods of a pod set on a spot, or with fewer (below 0)."""
        found: dict[int, dict[Spot, int]] = {}
        for s, spot, pods in changes:
            spots = found.get(s)
            if spots is None:
                spots = found[s] = dict(self.podsets[s])
            spots[spot] = spots.get(spot, 0) + pods
        return self.replace(found) if found else self

    def items(self) -> Iterator[tuple[int, Spot, int]]:
        """Pod set, spot and number of pods, in a fixed order."""
        for s, spots in enumerate(self.podsets):
            for spot in sorted(spots):
                yield s, spot, spots[spot]


def nowhere(podsets: int) -> Placement:
    """Return the placement in which no pod runs."""
    return Placement(tuple({} for _ in range(podsets)))
