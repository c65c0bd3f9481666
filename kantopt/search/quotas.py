"""What queues use and may still use."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use
from kantopt.verify.step import standing_loads


class Quotas:
    """Use of each queue, kept up to date; answers whether more would fit."""

    def __init__(self, instance: Instance) -> None:
        self.usage = [[0] * len(instance.resources) for _ in instance.queues]
        self._queues = instance.queues
        self._on = instance.on(Rule.QUOTA) and bool(instance.queues)
        self._cohorts = cohorts(instance)
        # What was used beyond a limit before may be used again: by others, once its users are gone.
        standing = standing_loads(instance).queue if self._on else ()
        self._most: list[dict[int, int | None]] = [{} for _ in instance.queues]
        self._most_shared: dict[tuple[str, int], int] = {}
        if self._on:
            for queue in instance.queues:
                for quota in queue.quotas:
                    limit = queue_limit(queue, quota)
                    used = standing[queue.index][quota.resource]
                    most = None if limit is None else max(limit, used)
                    self._most[queue.index][quota.resource] = most
            self._most_shared = {
                key: max(shared_limit(members), shared_use(members, standing))
                for key, members in self._cohorts.items()
            }

    def add(self, queue: int | None, demand: Amounts, pods: int) -> None:
        """Charge pods to a queue; a negative number gives back."""
        if queue is not None:
            usage = self.usage[queue]
            for r, amount in enumerate(demand):
                if amount:
                    usage[r] += pods * amount

    def settle(self) -> None:
        """Take what is used now as what was used before: beyond a limit nobody may use more."""
        if not self._on:
            return
        for queue in self._queues:
            most = self._most[queue.index]
            for quota in queue.quotas:
                limit = queue_limit(queue, quota)
                used = self.usage[queue.index][quota.resource]
                most[quota.resource] = None if limit is None else max(limit, used)
        for key, members in self._cohorts.items():
            self._most_shared[key] = max(shared_limit(members), shared_use(members, self.usage))

    def room(self, queue: int | None, demand: Amounts, most: int) -> int:
        """Pods of a demand, at most ``most``, that the queue and its cohort still allow."""
        if queue is None or not self._on:
            return most
        if self.allows(queue, [most * amount for amount in demand]):
            return most
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            if self.allows(queue, [middle * amount for amount in demand]):
                low = middle
            else:
                high = middle
        return low

    def allows(self, queue: int | None, extra: Sequence[int]) -> bool:
        """Whether a queue may use that much more."""
        if queue is None or not self._on:
            return True
        used = self.usage
        owner = self._queues[queue]
        for quota in owner.quotas:
            r = quota.resource
            if not extra[r]:
                continue
            most = self._most[queue][r]
            if most is not None and used[queue][r] + extra[r] > most:
                return False
            if owner.cohort:
                members = self._cohorts[owner.cohort, r]
                before = max(0, used[queue][r] - quota.guaranteed)
                after = max(0, used[queue][r] + extra[r] - quota.guaranteed)
                shared = shared_use(members, used) - before + after
                if after > before and shared > self._most_shared[owner.cohort, r]:
                    return False
        return True

    def allows_back(self, queue: int | None, extra: Sequence[int], usage: list[list[int]]) -> bool:
        """Whether a queue that had this before its eviction could use it again.

        Unlike for an arrival, a cohort that is overdrawn by others stands in the way too.
        """
        if queue is None or not self._on:
            return True
        back = list(usage)
        back[queue] = [used + more for used, more in zip(usage[queue], extra, strict=True)]
        owner = self._queues[queue]
        for quota in owner.quotas:
            r = quota.resource
            if not extra[r]:
                continue
            limit = self._most[queue][r]
            if limit is not None and back[queue][r] > limit:
                return False
            if owner.cohort:
                members = self._cohorts[owner.cohort, r]
                if shared_use(members, back) > self._most_shared[owner.cohort, r]:
                    return False
        return True

    def exceeded(self) -> int:
        """Return how many limits are exceeded."""
        own = (
            most is not None and self.usage[queue][r] > most
            for queue, limits in enumerate(self._most)
            for r, most in limits.items()
        )
        shared = (
            shared_use(self._cohorts[key], self.usage) > most
            for key, most in self._most_shared.items()
        )
        return sum(own) + sum(shared)

    def rivals(self, queue: int) -> frozenset[int]:
        """Queues whose use can stand in the way of a queue: itself and its cohort."""
        cohort = self._queues[queue].cohort
        return frozenset(
            other.index
            for other in self._queues
            if other.index == queue or (cohort and other.cohort == cohort)
        )
