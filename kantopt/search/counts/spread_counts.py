"""Spread, counted pod by pod: what a constraint has in each domain, and who arrived there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kantopt.problem.job import Spread
from kantopt.schema.model import Rule
from kantopt.search.counts.label_domains import LabelDomains
from kantopt.search.shapes import Ints, Mask


class SpreadCounts:
    """Spread constraints that say the same, with whom they count and who arrived, per domain."""

    rule = Rule.SPREAD
    index: int

    def __init__(self, spread: Spread, domains: LabelDomains, eligible: Mask) -> None:
        self.owners: set[int] = set()
        self.counted = frozenset(spread.counted)
        self.max_skew = spread.max_skew
        self.domains = domains
        self.eligible = eligible
        watched = np.zeros(domains.size, dtype=np.bool_)
        watched[domains.of[eligible & (domains.of >= 0)]] = True
        self.watched = watched
        number = int(watched.sum())
        self.whole = number > 0 and number >= spread.min_domains
        self.count: Ints = np.zeros(domains.size, dtype=np.int64)
        self.arrived: Ints = np.zeros(domains.size, dtype=np.int64)

    def sides(self, s: int) -> tuple[bool, bool]:
        return s in self.owners, s in self.counted

    def add(self, s: int, n: int, pods: int, *, arrival: bool) -> None:
        domain = int(self.domains.of[n])
        if domain < 0:
            return
        if s in self.counted and self.eligible[n]:
            self.count[domain] += pods
        if arrival and s in self.owners:
            self.arrived[domain] += pods

    def skew(self) -> Ints:
        """Return by how much each domain exceeds the emptiest."""
        least = int(self.count[self.watched].min()) if self.whole else 0
        return np.asarray(np.where(self.watched, self.count, 0) - least, dtype=np.int64)

    def admits(self, s: int) -> Mask:
        """Nodes on which one more pod of ``s`` keeps the constraint."""
        skew = self.skew() + (1 if s in self.counted else 0)
        fine = skew <= self.max_skew
        if s in self.owners:
            return self._by_node(fine, outside=False)
        return self._by_node(fine | (self.arrived == 0), outside=True) | ~self.eligible

    def _by_node(self, domains: Mask, *, outside: bool) -> Mask:
        return np.asarray(np.append(domains, outside)[self.domains.of], dtype=np.bool_)

    def holds(self) -> bool:
        """Whether no domain in which pods arrived exceeds the emptiest too far."""
        return bool((self.skew()[self.arrived > 0] <= self.max_skew).all())

    def is_pressed(self, s: int, n: int, ignored: Iterable[tuple[int, int, int]]) -> bool:
        """Whether one more pod of ``s`` breaks the constraint for pods that arrived.

        ``ignored`` lists pod set, node and number of pods, arrivals among them, to leave out.
        """
        domain = int(self.domains.of[n])
        if s not in self.counted or domain < 0 or not self.eligible[n]:
            return False
        count, arrived = self.count.copy(), int(self.arrived[domain])
        for other, m, pods in ignored:
            at = int(self.domains.of[m])
            if at >= 0 and other in self.counted and self.eligible[m]:
                count[at] -= pods
            if at == domain and other in self.owners:
                arrived -= pods
        count[domain] += 1
        least = int(count[self.watched].min()) if self.whole else 0
        return arrived > 0 and int(count[domain]) - least > self.max_skew
