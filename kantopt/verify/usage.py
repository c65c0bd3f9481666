"""What pods use of queues, and of what the queues of a cohort share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from kantopt.problem.instance import Instance
from kantopt.problem.kept import kept_with_instance

Cohort = tuple[str, int]
"""Its name, and a resource that it shares."""


class Usage:
    """What pods use of each queue and cohort, kept up to date pod by pod.

    A queue shares what it uses beyond what it never lends. To add that up anew for each pod would
    take a look at all queues of the cohort.
    """

    def __init__(self, instance: Instance) -> None:
        self.of = [[0] * len(instance.resources) for _ in instance.queues]
        """Of each resource, by queue."""
        self.lends = _lends(instance)
        """By queue and resource the cohort that shares it, and how much the queue never lends."""
        self.shared = {cohort: 0 for lends in self.lends for cohort, _ in lends.values()}

    def add(self, queue: int, demand: Sequence[int], pods: int) -> None:
        """Add what pods use of a queue; a negative number gives it back."""
        of, lends = self.of[queue], self.lends[queue]
        for r, amount in enumerate(demand):
            if amount:
                before = of[r]
                of[r] = now = before + pods * amount
                if r in lends:
                    cohort, kept = lends[r]
                    self.shared[cohort] += max(0, now - kept) - max(0, before - kept)

    def copy(self) -> Self:
        """Return the same usage, to be changed apart."""
        twin = type(self).__new__(type(self))
        twin.of = [used[:] for used in self.of]
        twin.shared = self.shared.copy()
        twin.lends = self.lends
        return twin


@kept_with_instance(1)
def _lends(instance: Instance) -> tuple[dict[int, tuple[Cohort, int]], ...]:
    return tuple(
        {
            quota.resource: ((queue.cohort, quota.resource), quota.guaranteed)
            for quota in queue.quotas
            if queue.cohort
        }
        for queue in instance.queues
    )
