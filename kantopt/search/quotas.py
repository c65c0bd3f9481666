"""What queues use and may still use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kantopt.problem.cluster import Amounts, Queue, Quota
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.shapes import Ints
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use
from kantopt.verify.step import standing_loads


class Quotas:
    """Use of each queue, kept up to date; answers whether more would fit."""

    def __init__(self, instance: Instance) -> None:
        self.usage = [[0] * len(instance.resources) for _ in instance.queues]
        self.at_other_times: Ints | None = None
        """What is used beyond ``usage`` at times at which more has to be allowed as well."""
        self._came = [[0] * len(instance.resources) for _ in instance.queues]
        self._queues = instance.queues
        self._on = instance.on(Rule.QUOTA) and bool(instance.queues)
        self._cohorts = cohorts(instance)
        # Limits, and what may be used as long as nothing comes: what was used before, if more.
        self._most: list[dict[int, tuple[int, int] | None]] = [{} for _ in instance.queues]
        self._most_shared: dict[tuple[str, int], tuple[int, int]] = {}
        if self._on:
            self._take_as_standing(standing_loads(instance).queue)

    def add(self, queue: int | None, demand: Amounts, pods: int, new: int) -> None:
        """Charge pods to a queue, ``new`` of them not there before; below 0 gives back."""
        if queue is not None:
            usage, came = self.usage[queue], self._came[queue]
            for r, amount in enumerate(demand):
                if amount:
                    usage[r] += pods * amount
                    came[r] += new * amount

    def settle(self) -> None:
        """Take what is used now as what was used before."""
        if not self._on:
            return
        self._came = [[0] * len(came) for came in self._came]
        self._take_as_standing(self.usage)

    def _take_as_standing(self, usage: Sequence[Sequence[int]]) -> None:
        for queue in self._queues:
            for quota in queue.quotas:
                limit = queue_limit(queue, quota)
                used = usage[queue.index][quota.resource]
                most = None if limit is None else (limit, max(limit, used))
                self._most[queue.index][quota.resource] = most
        for key, members in self._cohorts.items():
            limit = shared_limit(members)
            self._most_shared[key] = limit, max(limit, shared_use(members, usage))

    def room(self, queue: int | None, demand: Amounts, most: int, *, back: bool = False) -> int:
        """Pods of a demand, at most ``most``, that the queue and its cohort still allow."""
        if queue is None or not self._on:
            return most
        if self.allows(queue, [most * amount for amount in demand], back=back):
            return most
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            if self.allows(queue, [middle * amount for amount in demand], back=back):
                low = middle
            else:
                high = middle
        return low

    def allows(self, queue: int | None, extra: Sequence[int], *, back: bool = False) -> bool:
        """Whether a queue may use that much more; ``back``: again, for pods that were there."""
        if queue is None or not self._on:
            return True
        later = self.at_other_times
        if later is not None and not self._always_allows(queue, extra, later):
            return False
        used = self.usage
        owner = self._queues[queue]
        for quota in owner.quotas:
            r = quota.resource
            if not extra[r]:
                continue
            most = self._most[queue][r]
            if most is not None:
                limit = most[back and not self._came[queue][r]]
                if used[queue][r] + extra[r] > limit:
                    return False
            if owner.cohort:
                members = self._cohorts[owner.cohort, r]
                before = max(0, used[queue][r] - quota.guaranteed)
                after = max(0, used[queue][r] + extra[r] - quota.guaranteed)
                shared = shared_use(members, used) - before + after
                limit = self._most_shared[owner.cohort, r][back and not self._shares(members)]
                if after > before and shared > limit:
                    return False
        return True

    def _always_allows(self, queue: int, extra: Sequence[int], beyond: Ints) -> bool:
        """Whether a queue may use that much more at all of some times, by the same limits."""
        used: Ints = np.array(self.usage, dtype=np.int64) + beyond
        owner = self._queues[queue]
        for quota in owner.quotas:
            r = quota.resource
            own, more = used[:, queue, r], extra[r]
            most = self._most[queue][r]
            if more and most is not None and (own + more > most[False]).any():
                return False
            if more and owner.cohort:
                members = self._cohorts[owner.cohort, r]
                kept = np.array([each.guaranteed for _, each in members])
                lent = used[:, [each.index for each, _ in members], r] - kept
                before = np.maximum(0, own - quota.guaranteed)
                after = np.maximum(0, own + more - quota.guaranteed)
                shared = np.maximum(0, lent).sum(axis=1) - before + after
                limit = self._most_shared[owner.cohort, r][False]
                if ((after > before) & (shared > limit)).any():
                    return False
        return True

    def _shares(self, members: Sequence[tuple[Queue, Quota]]) -> bool:
        """Whether pods came to a queue of a cohort that uses more than it never lends."""
        return any(
            self._came[queue.index][quota.resource]
            and self.usage[queue.index][quota.resource] > quota.guaranteed
            for queue, quota in members
        )

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
            most = self._most[queue][r]
            if most is not None and back[queue][r] > most[True]:
                return False
            if owner.cohort:
                members = self._cohorts[owner.cohort, r]
                if shared_use(members, back) > self._most_shared[owner.cohort, r][True]:
                    return False
        return True

    def exceeded(self) -> int:
        """Return how many limits are exceeded."""
        own = (
            most is not None and self.usage[queue][r] > most[not self._came[queue][r]]
            for queue, limits in enumerate(self._most)
            for r, most in limits.items()
        )
        shared = (
            shared_use(self._cohorts[key], self.usage) > most[not self._shares(self._cohorts[key])]
            for key, most in self._most_shared.items()
        )
        return sum(own) + sum(shared)
