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
    take a look at all queues of the cohort; so it would to ask whether anybody new shares it.
    """

    def __init__(self, instance: Instance) -> None:
        self.of = [[0] * len(instance.resources) for _ in instance.queues]
        """Of each resource, by queue."""
        self.lends = _lends(instance)
        """By queue and resource the cohort that shares it, and how much the queue never lends."""
        self.shared = {cohort: 0 for lends in self.lends for cohort, _ in lends.values()}
        self.came: dict[tuple[int, int], int] = {}
        """How much of a queue's resource pods use that came there."""
        self.newcomers: dict[Cohort, set[int]] = {}
        """Queues to which pods came, by cohort."""

    def add(self, queue: int, demand: Sequence[int], pods: int, new: int) -> None:
        """Add what pods use of a queue, ``new`` of which came; a negative number gives it back."""
        of, lends, came = self.of[queue], self.lends[queue], self.came
        for r, amount in enumerate(demand):
            if amount:
                before, at = of[r], (queue, r)
                of[r] = now = before + pods * amount
                if new:
                    came[at] = came.get(at, 0) + new * amount
                if r in lends:
                    cohort, kept = lends[r]
                    self.shared[cohort] += max(0, now - kept) - max(0, before - kept)
                    if new and came[at] > 0:
                        self.newcomers.setdefault(cohort, set()).add(queue)
                    elif new and cohort in self.newcomers:
                        self.newcomers[cohort].discard(queue)

    def unused(self, queue: int, r: int) -> int:
        """Return what a queue leaves unused of what it never lends."""
        return max(0, self.lends[queue][r][1] - self.of[queue][r])

    def overdrawn(self, cohort: Cohort, limit: int, had: int | None = None, more: int = 0) -> bool:
        """Whether with so much more a cohort shares too much for the queues to which pods came.

        Or, if they came to none, more than it had; ``None``: that may be anything.
        """
        over, came = self.shared[cohort] + more - limit, self.newcomers.get(cohort)
        if over <= 0 or not came:
            return over > 0 and had is not None and over > had - limit
        return any(over > self.unused(queue, cohort[1]) for queue in came)

    def settle(self) -> None:
        """Let nobody be new any more."""
        self.came, self.newcomers = {}, {}

    def copy(self) -> Self:
        """Return the same usage, to be changed apart."""
        twin = type(self).__new__(type(self))
        twin.of = [used[:] for used in self.of]
        twin.shared = self.shared.copy()
        twin.came = self.came.copy()
        twin.newcomers = {cohort: came.copy() for cohort, came in self.newcomers.items()}
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
