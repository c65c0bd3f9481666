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
from kantopt.verify.usage import Cohort, Usage


class Quotas:
    """Use of each queue, kept up to date; answers whether more would fit."""

    def __init__(self, instance: Instance) -> None:
        self._usage = Usage(instance)
        self.at_other_times: Ints | None = None
        """What is used beyond ``usage`` at times at which more has to be allowed as well."""
        self._queues = instance.queues
        self.on = instance.on(Rule.QUOTA) and bool(instance.queues)
        self.kept: Sequence[Counter[tuple[int, int]]] = ()
        """What is to be used beside, by queue and resource, should victims come back."""
        self._cohorts = cohorts(instance)
        # Limits, and what may be used as long as nothing comes: what was used before, if more.
        self._most: list[dict[int, tuple[int, int] | None]] = [{} for _ in instance.queues]
        self._most_shared: dict[Cohort, tuple[int, int]] = {}
        if self.on:
            self._take_as_standing(standing_loads(instance).usage)

    @property
    def usage(self) -> list[list[int]]:
        """What is used of each resource, by queue."""
        return self._usage.of

    def add(self, queue: int | None, demand: Sequence[int], pods: int, new: int) -> None:
        """Charge pods to a queue, ``new`` of them not there before; below 0 gives back."""
        if queue is not None:
            self._usage.add(queue, demand, pods, new)

    def settle(self) -> None:
        """Take what is used now as what was used before."""
        if not self.on:
            return
        self._usage.settle()
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
                limit = most[back and not self._usage.came.get((queue, r))]
                if used[queue][r] + extra[r] > limit:
                    return False
            if owner.cohort:
                key, (limit, standing) = (owner.cohort, r), self._most_shared[owner.cohort, r]
                now = used[queue][r] + extra[r] - quota.guaranteed
                more = max(0, now) - max(0, now - extra[r])
                if back and not self._usage.came.get((queue, r)):
                    if more and self._usage.overdrawn(key, limit, standing, more):
                        return False
                elif self._usage.shared[key] + more > limit + max(0, -now):
                    return False
        return back or self._spares(queue, extra)

    def relief(self, queue: int, extra: Sequence[int], other: int, given: Sequence[int]) -> float:
        """How much nearer a queue is to being allowed more if a queue gives back some amounts.

        Of each limit that it would exceed the part of what is lacking, added up.
        """
        usage, lends, relief = self._usage, self._usage.lends, 0.0
        for quota in self._queues[queue].quotas:
            r = quota.resource
            if not (extra[r] and given[r]):
                continue
            used, most = usage.of[queue][r] + extra[r], self._most[queue][r]
            if other == queue and most is not None and used > most[False]:
                relief += min(1, given[r] / (used - most[False]))
            cohort, kept = lends[queue].get(r, ("", 0))
            if r not in lends[other] or lends[other][r][0] != cohort:
                continue
            others = usage.shared[cohort] - max(0, usage.of[queue][r] - kept)
            lacking = others + used - kept - self._most_shared[cohort][False]
            beyond = used if other == queue else usage.of[other][r] - lends[other][r][1]
            if lacking > 0:
                relief += min(1, max(0, min(given[r], beyond)) / lacking)
        return relief

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
                others = np.maximum(0, lent).sum(axis=1) - np.maximum(0, own - quota.guaranteed)
                shared = others + own + more - quota.guaranteed
                if (shared > self._most_shared[owner.cohort, r][False]).any():
                    return False
        return True

    def without(self, pods: Iterable[tuple[int | None, Amounts, int, int]]) -> Quotas:
        """Return the same without some pods: queue, demand, how many, and how many of them new."""
        rest = copy(self)
        rest._usage = self._usage.copy()
        for queue, demand, count, new in pods:
            rest.add(queue, demand, -count, -new)
        return rest

    def allows_back(self, queue: int | None, extra: Sequence[int]) -> bool:
        """Whether a queue that had this before its eviction could use it again beside the others.

        Unlike for an arrival, a cohort that is overdrawn by others stands in the way too.
        """
        if queue is None or not self.on:
            return True
        self.add(queue, extra, 1, 0)
        lends, asked = self._usage.lends[queue], [r for r, amount in enumerate(extra) if amount]
        full = any(self._exceeds(queue, r) for r in asked) or any(
            self._exceeds_shared(lends[r][0]) for r in asked if r in lends
        )
        self.add(queue, extra, -1, 0)
        return not full

    def _exceeds(self, queue: int, r: int) -> bool:
        most, usage = self._most[queue].get(r), self._usage
        return most is not None and usage.of[queue][r] > most[not usage.came.get((queue, r))]

    def _exceeds_shared(self, cohort: Cohort) -> bool:
        return self._usage.overdrawn(cohort, *self._most_shared[cohort])

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
            if cohort in shared:
                limit = self._most_shared[cohort][False] + max(0, kept - used)
                if shared[cohort] > limit:
                    return False
        return True

    def exceeded(self) -> int:
        """Return how many limits are exceeded."""
        own = sum(self._exceeds(q, r) for q, limits in enumerate(self._most) for r in limits)
        return own + sum(map(self._exceeds_shared, self._most_shared))
