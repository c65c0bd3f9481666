"""Owners of jobs, what share of the cluster each uses, and what it is to be weighed by."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from kantopt.schema.policy import Queueing
from kantopt.simulate.floor import Floor


class Owners:
    """Users or queues; whoever is not named is one owner with all others of no name.

    Shares are dominant ones: of the resource of which an owner has the largest part (Ghodsi et
    al., *Dominant Resource Fairness*, NSDI 2011), of all that all nodes offer.
    """

    def __init__(self, floor: Floor, queueing: Queueing) -> None:
        self._floor, self._queueing = floor, queueing
        offered = floor.cluster.state.offered.sum(axis=1).tolist()
        self._offered = [(r, most) for r, most in enumerate(offered) if most > 0]

    def of(self, j: int) -> str:
        """Return the owner of a job."""
        if self._queueing.share_by == "queue":
            return self._floor.world.jobs[j].queue_name
        return self._floor.world.tasks[j].user

    def weight(self, owner: str) -> int:
        """Return how much more than others an owner is entitled to."""
        return self._queueing.weights.get(owner, 1)

    def placed(self, j: int) -> list[int]:
        """What the pods of a job use that are placed, by resource."""
        instance, placed = self._floor.world.instance, self._floor.cluster.state.placed
        return self._sum((placed[s], s) for s in instance.jobs[j].podsets)

    def asked(self, j: int) -> list[int]:
        """What all pods of a job ask for, by resource."""
        instance = self._floor.world.instance
        podsets = (instance.podsets[s] for s in instance.jobs[j].podsets)
        return self._sum((podset.count, podset.index) for podset in podsets)

    def _sum(self, pods: Iterable[tuple[int, int]]) -> list[int]:
        podsets = self._floor.world.instance.podsets
        total = [0] * len(self._floor.world.instance.resources)
        for count, s in pods:
            for r, amount in enumerate(podsets[s].demand):
                total[r] += count * amount
        return total

    def share(self, used: list[int]) -> Fraction:
        """Return the dominant share of some amounts."""
        return max((Fraction(used[r], most) for r, most in self._offered), default=Fraction(0))
