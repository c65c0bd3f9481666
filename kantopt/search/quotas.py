"""What queues use and may still use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.shapes import Ints
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit
from kantopt.verify.step import standing_loads
from kantopt.verify.usage import Usage


class Quotas:
    """Use of each queue, kept up to date; answers whether more would fit."""

    def __init__(self, instance: Instance) -> None:
        self._usage = Usage(instance)
        self.at_other_times: Ints | None = None
        """What is used beyond ``usage`` at times at which more has to be allowed as well."""
        self._came = [[0] * len(instance.resources) for _ in instance.queues]
        self._newcomers = dict.fromkeys(self._usage.shared, 0)
        """Queues of each cohort to which pods came and that use more than they never lend."""
        self._queues = instance.queues
        self.on = instance.on(Rule.QUOTA) and bool(instance.queues)
        self.kept: Sequence[Counter[tuple[int, int]]] = ()
        """What is to be used beside, by queue and resource, should victims come back."""
        self._cohorts = cohorts(instance)
        # Limits, and what may be used as long as nothing comes: what was used before, if more.
        self._most: list[dict[int, tuple[int, int] | None]] = [{} for _ in instance.queues]
        self._most_shared: dict[tuple[str, int], tuple[int, int]] = {}
        if self.on:
            self._take_as_standing(standing_loads(instance).usage)

    @property
    def usage(self) -> list[list[int]]:
        """What is used of each resource, by queue."""
        return self._usage.of

    def add(self, queue: int | None, demand: Sequence[int], pods: int, new: int) -> None:
        """Charge pods to a queue, ``new`` of them not there before; below 0 gives back."""
        if queue is not None:
            self._count(queue, demand, -1)
            self._usage.add(queue, demand, pods)
            if new:
                came = self._came[queue]
                for r, amount in enumerate(demand):
                    came[r] += new * amount
            self._count(queue, demand, 1)

    def _count(self, queue: int, demand: Sequence[int], sign: int) -> None:
        """Count a queue among the newcomers of its cohorts, or count it out before a change."""
        used, came = self.usage[queue], self._came[queue]
        for r, (cohort, kept) in self._usage.lends[queue].items():
            if demand[r] and came[r] and used[r] > kept:
                self._newcomers[cohort] += sign

    def settle(self) -> None:
        """Take what is used now as what was used before."""
        if not self.on:
            return
        self._came = [[0] * len(came) for came in self._came]
        self._newcomers = dict.fromkeys(self._newcomers, 0)
        self._take_as_standing(self._usage)

    def _take_as_standing(self, usage: Usage) -> None:
        for queue in self._queues:
            for quota in queue.quotas:
                limit = queue_limit(queue, quota)
                used = usage.of[queue.index][quota.resource]
                most = None if limit is None else (limit, max(limit, used))
                self._most[queue.index][quota.resource] = most
        for key, members in self._cohorts.items():
            limit = shared_limit(members)
            self._most_shared[key] = limit, max(limit, usage.shared[key])

    def room(self, queue: int | None, demand: Amounts, most: int, *, back: bool = False) -> int:
        """Pods of a demand, at most ``most``, that the queue and its cohort still allow."""
        if queue is None or not self.on:
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
        if queue is None or not self.on:
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
                key = owner.cohort, r
                before = max(0, used[queue][r] - quota.guaranteed)
                after = max(0, used[queue][r] + extra[r] - quota.guaranteed)
                shared = self._usage.shared[key] - before + after
                limit, standing = self._most_shared[key]
                may = standing if back and not self._newcomers[key] else limit
                if after > before and shared > may:
                    return False
        return back or self._spares(queue, extra)

    def _spares(self, queue: int, extra: Sequence[int]) -> bool:
        """Whether a queue may use that much more beside what is kept."""
        asked = {(queue, r): amount for r, amount in enumerate(extra) if amount}
        for kept in self.kept:
            more = Counter(kept)
            more.update(asked)
            if not self.bears(asked, more):
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

    def without(self, pods: Iterable[tuple[int | None, Amounts, int]]) -> Quotas:
        """Return the same without some pods: the queue of each, its demand, and how many."""
        rest = copy(self)
        rest._usage, rest._newcomers = self._usage.copy(), self._newcomers.copy()
        for queue, demand, count in pods:
            rest.add(queue, demand, -count, 0)
        return rest

    def allows_back(self, queue: int | None, extra: Sequence[int]) -> bool:
        """Whether a queue that had this before its eviction could use it again.

        Unlike for an arrival, a cohort that is overdrawn by others stands in the way too.
        """
        if queue is None or not self.on:
            return True
        owner, used = self._queues[queue], self.usage[queue]
        for quota in owner.quotas:
            r = quota.resource
            if not extra[r]:
                continue
            most = self._most[queue][r]
            if most is not None and used[r] + extra[r] > most[True]:
                return False
            if owner.cohort:
                before = max(0, used[r] - quota.guaranteed)
                after = max(0, used[r] + extra[r] - quota.guaranteed)
                key = owner.cohort, r
                if self._usage.shared[key] - before + after > self._most_shared[key][True]:
                    return False
        return True

    def bears(self, coming: Iterable[tuple[int, int]], more: Counter[tuple[int, int]]) -> bool:
        """Whether limits hold where pods come if so much more is used, by queue and resource."""
        usage, lends = self._usage, self._usage.lends
        cohorts = {lends[q][r][0] for q, r in coming if r in lends[q]}
        shared = {cohort: usage.shared[cohort] for cohort in cohorts}
        for (q, r), amount in more.items() if cohorts else ():
            cohort, kept = lends[q].get(r, ("", 0))
            if cohort in shared:
                now = usage.of[q][r]
                shared[cohort] += max(0, now + amount - kept) - max(0, now - kept)
        for q, r in coming:
            used, most = usage.of[q][r] + more[q, r], self._most[q].get(r)
            if most is not None and used > most[False]:
                return False
            cohort, kept = lends[q].get(r, ("", 0))
            if cohort in shared and used > kept and shared[cohort] > self._most_shared[cohort][0]:
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
            self._usage.shared[key] > most[not self._newcomers[key]]
            for key, most in self._most_shared.items()
        )
        return sum(own) + sum(shared)
