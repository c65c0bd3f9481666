"""Room and quota of victims, kept from those who may not evict them: part of R10, in a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.schema.model import Rule
from kantopt.search.preemption.gone import NOBODY
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import Change, State


def _reach(job: Job) -> int:
    """Below which priority pods are that a job may evict."""
    return job.priority if job.may_preempt else NOBODY


class Left(Protocol):
    """Places that pod sets with victims have left."""

    def changed(self) -> Sequence[int]:
        """Return nodes in the order in which that changed there: a list that only grows."""
        ...

    def left_on(self, n: int) -> Iterable[Change]:
        """Return pod set, spot and pods of those who have left a node."""
        ...


class LeftForGood:
    """Places of pods that will not come back."""

    def __init__(self) -> None:
        self._changed: list[int] = []
        self._on: dict[int, list[Change]] = {}

    def add(self, s: int, spot: Spot, pods: int) -> None:
        """Note pods that go."""
        self._on.setdefault(spot.node, []).append((s, spot, pods))
        self._changed.append(spot.node)

    def changed(self) -> Sequence[int]:
        """See :class:`Left`."""
        return self._changed

    def left_on(self, n: int) -> Iterable[Change]:
        """See :class:`Left`."""
        return self._on.get(n, ())


class _LeftNow:
    """Places where fewer pods are now than ran there, of pod sets of which some run nowhere."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._homes: dict[int, list[Change]] = {}
        for podset in state.instance.podsets:
            if podset.running and state.placed[podset.index] < podset.count:
                for spot, pods in podset.current.items():
                    self._homes.setdefault(spot.node, []).append((podset.index, spot, pods))
        # Quota is not asked node by node: there it matters who has come anywhere.
        self._changed = [*self._homes, *state.bound_on] if self._homes else []

    def changed(self) -> Sequence[int]:
        """All at first: later on a node must have been touched."""
        return self._changed

    def left_on(self, n: int) -> Iterable[Change]:
        """See :class:`Left`."""
        for s, spot, pods in self._homes.get(n, ()):
            lost = pods - self._state.spots[s].get(spot, 0)
            if lost > 0:
                yield s, spot, lost


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a node would lack with its victims from a priority up back, their preemptors away."""

    priority: int
    free: Ints
    """By resource."""
    devices: Ints
    """By resource of devices, and device."""


class KeptRoom:
    """What victims have left and more important arrivals do not fill: nobody else's.

    For each priority of a node's victims its free room is looked at as if those of that priority
    and higher were back, and those who may evict it had not come. Other priorities ask for no
    more. A node is looked at anew only once it has changed.

    Parameters
    ----------
    state
        Where pods are.
    left
        The places that pod sets with victims have left.
    """

    def __init__(self, state: State, left: Left) -> None:
        self._state = state
        self._left = left
        self._on = state.instance.strict and state.instance.on(Rule.PRIORITY)
        jobs = [state.instance.jobs[podset.job] for podset in state.instance.podsets]
        self._priority = [job.priority for job in jobs]
        self._below = [_reach(job) for job in jobs]
        self._touched = len(state.touched)
        self._changed = 0
        self._kept: dict[int, list[_Kept]] = {}
        """By node, where there is any."""
        self._taken: list[tuple[list[int], Ints, Ints]] = []
        """What is taken off nodes of the state now, of its resources and of devices."""
        self._quota = KeptQuota(state, self._below) if self._on and state.quotas.on else None

    @contextmanager
    def held(self, j: int) -> Iterator[None]:
        """Take off the state, while a job is placed, the room that is kept from it."""
        state, below = self._state, _reach(self._state.instance.jobs[j])
        self._renew()
        kept = {
            n: mine
            for n, each in self._kept.items()
            if (mine := [room for room in each if room.priority >= below])
        }
        quota = [] if self._quota is None else self._quota.kept_from(below)
        if not (kept or quota):
            yield
            return
        nodes, most, before = list(kept), np.maximum.reduce, state.quotas.kept
        free = np.zeros_like(state.free[:, nodes])
        devices = np.zeros_like(state.devices[:, nodes])
        for i, mine in enumerate(kept.values()):
            free[:, i] = most([room.free for room in mine])
            devices[:, i] = most([room.devices for room in mine])
        state.free[:, nodes] -= free
        state.devices[:, nodes] -= devices
        self._touch(nodes)
        state.quotas.kept = quota
        self._taken.append((nodes, free, devices))
        try:
            yield
        finally:
            self._taken.pop()
            state.free[:, nodes] += free
            state.devices[:, nodes] += devices
            state.quotas.kept = before
            self._renew()
            self._touch(nodes)

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """Put what is taken off the state on it for a while: who judges is to see all the room."""
        state, taken, quota = self._state, self._taken, self._state.quotas.kept
        for nodes, free, devices in taken:
            state.free[:, nodes] += free
            state.devices[:, nodes] += devices
        self._taken, state.quotas.kept = [], ()
        try:
            yield
        finally:
            for nodes, free, devices in taken:
                state.free[:, nodes] -= free
                state.devices[:, nodes] -= devices
            self._taken, state.quotas.kept = taken, quota

    def _touch(self, nodes: list[int]) -> None:
        """Note that nodes have another room for all but us, who know: nobody came or left."""
        self._state.touched += nodes
        self._touched = len(self._state.touched)

    def holds(self) -> bool:
        """Whether all arrivals leave victims that they may not evict their room."""
        self._renew()
        state = self._state
        for n, each in self._kept.items():
            for room in each:
                short = state.free[:, n] < room.free
                few = state.devices[:, n] < room.devices
                if not (short.any() or few.any()):
                    continue
                for (s, spot), _ in self._arrivals(n):
                    if self._below[s] <= room.priority and self._asks(s, spot, short, few):
                        return False
        return self._quota is None or self._quota.holds()

    def _asks(self, s: int, spot: Spot, short: Mask, few: Mask) -> bool:
        """Whether a pod asks for something that is short on its node, or on its devices."""
        shape, state = self._state.shape[s], self._state
        if any(short[r] for r, _ in shape.asks):
            return True
        return any(few[row, d] for row, d, _ in state.device_asks(s, spot))

    def _arrivals(self, n: int) -> Iterator[tuple[tuple[int, Spot], int]]:
        yield from self._state.bound_on.get(n, {}).items()
        yield from self._state.moved_on.get(n, {}).items()

    def _renew(self) -> None:
        """Look again at the nodes that have changed."""
        if not self._on:
            return
        state, changed = self._state, self._left.changed()
        for n in {*state.touched[self._touched :], *changed[self._changed :]}:
            if self._quota is not None:
                self._quota.renew(n, self._left.left_on(n))
            if kept := list(self._lacking(n)):
                self._kept[n] = kept
            else:
                self._kept.pop(n, None)
        self._touched, self._changed = len(state.touched), len(changed)

    def _lacking(self, n: int) -> Iterator[_Kept]:
        left = list(self._left.left_on(n))
        if not left:
            return
        arrivals = [(s, spot, -k) for (s, spot), k in self._arrivals(n)]
        for q in sorted({self._priority[s] for s, _, _ in left}):
            gone = [change for change in left if self._priority[change[0]] >= q]
            came = [change for change in arrivals if self._below[change[0]] > q]
            free, devices = self._state.given(n, [*gone, *came])
            if (free > 0).any() or (devices > 0).any():
                yield _Kept(q, np.maximum(free, 0), np.maximum(devices, 0))


def room_of_the_gone(state: State) -> KeptRoom:
    """Return the room of those who are evicted as pods are placed now, if nobody else will be."""
    return KeptRoom(state, _LeftNow(state))


Amounts = Counter[tuple[int, int]]
"""By queue and resource."""


class KeptQuota:
    """What queues would use were victims from a priority up back, and their preemptors away.

    The counterpart of :class:`~kantopt.search.preemption.kept_room.KeptRoom`, which tells it what
    has changed on a node. Who moves still counts. Where pods of one pod set are evicted and others
    move, the latter count twice, unlike for the judge: that errs on the safe side.
    """

    def __init__(self, state: State, below: list[int]) -> None:
        self._state = state
        self._below = below
        """Of each pod set, below which priority pods are that it may evict."""
        self._victims: dict[int, Amounts] = {}
        """What those use who are gone, by their priority."""
        self._new: dict[int, Amounts] = {}
        """What new pods use, by the priority below which they may evict."""
        self._on: dict[int, list[tuple[dict[int, Amounts], int, Amounts]]] = {}
        """By node, what it adds to which of these."""

    def renew(self, n: int, left: Iterable[Change]) -> None:
        """Count anew who has left a node, and who came there."""
        state, jobs = self._state, self._state.instance.job_of
        for whose, priority, amounts in self._on.pop(n, ()):
            whose[priority].subtract(amounts)
        mine = [(self._victims, jobs(s).priority, self._use(s, pods)) for s, _, pods in left]
        for (s, _), pods in state.bound_on.get(n, {}).items():
            mine.append((self._new, self._below[s], self._use(s, pods)))
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
        for below, amounts in self._new.items():
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
