"""Quota of victims, kept from those who may not evict them: part of R10, in a search's state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kantopt.search.state import Change, State

Amounts = Counter[tuple[int, int]]
"""By queue and resource."""


class KeptQuota:
    """What queues would use were victims from a priority up back, and their preemptors away.

    The counterpart of :class:`~kantopt.search.preemption.kept_room.KeptRoom`, which tells it what
    has changed on a node. Where pods of one pod set are evicted and others move, the latter count
    twice, unlike for the judge: that errs on the safe side.
    """

    def __init__(self, state: State, below: list[int]) -> None:
        self._state = state
        self._below = below
        """Of each pod set, below which priority pods are that it may evict."""
        self._victims: dict[int, Amounts] = {}
        """What those use who are gone, by their priority."""
        self._arrivals: dict[int, Amounts] = {}
        """What those use who came, new or moved, by the priority below which they may evict."""
        self._new: dict[int, Amounts] = {}
        """The same of new ones."""
        self._on: dict[int, list[tuple[dict[int, Amounts], int, Amounts]]] = {}
        """By node, what it adds to which of these."""

    def renew(self, n: int, left: Iterable[Change]) -> None:
        """Count anew who has left a node, and who came there."""
        state, jobs = self._state, self._state.instance.job_of
        for whose, priority, amounts in self._on.pop(n, ()):
            whose[priority].subtract(amounts)
        mine = [(self._victims, jobs(s).priority, self._use(s, pods)) for s, _, pods in left]
        for (s, _), pods in state.moved_on.get(n, {}).items():
            mine.append((self._arrivals, self._below[s], self._use(s, pods)))
        for (s, _), pods in state.bound_on.get(n, {}).items():
            use = self._use(s, pods)
            mine += [(whose, self._below[s], use) for whose in (self._arrivals, self._new)]
        if mine := [each for each in mine if each[2]]:
            self._on[n] = mine
        for whose, priority, amounts in mine:
            whose.setdefault(priority, Counter()).update(amounts)

    def _use(self, s: int, pods: int) -> Amounts:
        instance = self._state.instance
        queue = instance.job_of(s).queue
        if queue is None:
            return Counter()
        demand = instance.podsets[s].demand
        return Counter({(queue, r): pods * amount for r, amount in enumerate(demand) if amount})

    def kept_from(self, below: int) -> list[Amounts]:
        """Return what is used beside for who may evict below a priority, for each of others.

        With victims of that priority and higher ones back, and their preemptors away.
        """
        return [self._beside(q) for q in self._priorities() if q >= below]

    def _priorities(self) -> list[int]:
        """Priorities of victims that use quota."""
        return sorted(q for q, amounts in self._victims.items() if any(amounts.values()))

    def _beside(self, q: int) -> Amounts:
        found: Amounts = Counter()
        for priority, amounts in self._victims.items():
            if priority >= q:
                found.update(amounts)
        for below, amounts in self._arrivals.items():
            if below > q:
                found.subtract(amounts)
        return found

    def holds(self) -> bool:
        """Whether all new pods leave victims that they may not evict their quota."""
        quotas = self._state.quotas
        for q in self._priorities():
            new: Amounts = Counter()
            for below, amounts in self._new.items():
                if below <= q:
                    new.update(amounts)
            coming = {at for at, amount in new.items() if amount}
            if coming and not quotas.bears(coming, self._beside(q)):
                return False
        return True
