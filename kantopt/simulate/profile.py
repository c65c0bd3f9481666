"""What will be free, from now on, by what users say: the availability profile of backfilling.

Mu'alem and Feitelson, IEEE Transactions on Parallel and Distributed Systems 12(6), 2001, keep a
list of times with the processors free from each on; here each has what nodes, devices and quotas
leave, so that a reservation is a set of places.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from kantopt.search.shapes import Ints
from kantopt.search.state import UNLIMITED, Change, State

NEVER = 2**62
"""The end of what never ends."""


class Profile:
    """Times from now on, and what is free from each to the next; the last lasts for ever.

    What is free at each time is a row of arrays that are otherwise shaped like a state's own; rows
    stay where they are while times come and go between them. Neighbours (affinity, spread) are
    left aside: for them, who is there now stays.

    Parameters
    ----------
    state
        Where everybody is now; it is the first row.
    now
        Milliseconds since the start of the trace.
    """

    def __init__(self, state: State, now: int) -> None:
        self._state = state
        podsets = state.instance.podsets
        self._queue = [state.instance.jobs[podset.job].queue for podset in podsets]
        shape = len(podsets), len(state.instance.resources)
        self._demand = np.array([p.demand for p in podsets], dtype=np.int64).reshape(shape)
        # What is unlimited somewhere, or overdrawn, is no measure of what can be had.
        self._measured = (state.capacity < UNLIMITED).all(axis=1) & (state.left >= 0).all(axis=1)
        self._measured &= np.array(
            [sum(row) < UNLIMITED for row in state.offered.tolist()], dtype=np.bool_
        )
        self._free = state.free[None].copy()
        self._devices = state.devices[None].copy()
        self._lends = any(queue.cohort for queue in state.instance.queues)
        usage = np.array(state.quotas.usage, dtype=np.int64)
        self._usage: Ints = usage.reshape(1, len(state.instance.queues), shape[1])
        self._total: Ints = state.left.sum(axis=1)[None]
        """Of all nodes and devices together: to refuse at a glance."""
        self.times = [now]
        self._rows = [0]
        """Row of each time."""
        self._spare: list[int] = []

    def advance(self, now: int) -> None:
        """Forget what lies before now."""
        k = bisect_right(self.times, now) - 1
        self._spare += self._rows[:k]
        del self.times[:k]
        del self._rows[:k]
        self.times[0] = now

    def forget(self, needed: Collection[int]) -> None:
        """Forget times at which nothing changes any more: all but those needed, and now."""
        kept = [k for k, at in enumerate(self.times) if k == 0 or at in needed]
        if len(kept) < len(self.times):
            rows = [self._rows[k] for k in kept]
            self._spare += sorted(set(self._rows) - set(rows))
            self.times, self._rows = [self.times[k] for k in kept], rows

    def take(self, pods: Sequence[Change], begin: int, end: int) -> None:
        """Let pods use what they ask for from one time to another."""
        self.give([(s, spot, -k) for s, spot, k in pods], begin, end)

    def give(self, pods: Sequence[Change], begin: int, end: int) -> None:
        """Take such use back."""
        begin = max(begin, self.times[0])
        if begin >= end or not pods:
            return
        first = self._split(begin)
        last = len(self.times) if end >= NEVER else self._split(end)
        rows = np.array(self._rows[first:last])
        free, devices = np.zeros_like(self._free[0]), np.zeros_like(self._devices[0])
        self._state.give(pods, free, devices)
        nodes = np.array(sorted({spot.node for _, spot, _ in pods}))
        self._free[rows[:, None], :, nodes] += free[:, nodes].T
        if devices.any():
            self._devices[rows] += devices
        amounts: Ints = np.zeros_like(self._total[0])
        usage = np.zeros_like(self._usage[0])
        for s, _, k in pods:
            amounts += k * self._demand[s]
            queue = self._queue[s]
            if queue is not None:
                usage[queue] -= k * self._demand[s]
        self._total[rows] += amounts
        if usage.any():
            self._usage[rows] += usage

    def _split(self, at: int) -> int:
        """Return the number of a time; it is made if there is none, with the row before it."""
        k = bisect_left(self.times, at)
        if k == len(self.times) or self.times[k] != at:
            if not self._spare:
                size = len(self._free)
                for name in ("_free", "_devices", "_usage", "_total"):
                    rows = getattr(self, name)
                    setattr(self, name, np.concatenate([rows, np.zeros_like(rows)]))
                self._spare = list(range(size, 2 * size))
            new, old = self._spare.pop(), self._rows[k - 1]
            for rows in (self._free, self._devices, self._usage, self._total):
                rows[new] = rows[old]
            self.times.insert(k, at)
            self._rows.insert(k, new)
        return k

    def starts(self, least: Ints, length: int) -> Iterator[int]:
        """Yield times, from now on, from which so much in all is free for so long.

        Parameters
        ----------
        least
            Amount of each resource that the pods without which a job does not start ask for.
        length
            Milliseconds.
        """
        asked = self._measured & (least > 0)
        short = self._total[self._rows][:, asked] < least[asked]
        times = np.array(self.times, dtype=np.int64)
        bad = np.flatnonzero(short.any(axis=1))
        until = np.append(times[bad], NEVER * 2 - 1)[np.searchsorted(bad, np.arange(len(times)))]
        yield from times[until >= times + length].tolist()

    @contextmanager
    def imagined(self, begin: int, end: int) -> Iterator[None]:
        """Put what is free all the time from begin to end in the place of what is free now."""
        state = self._state
        first = bisect_right(self.times, begin) - 1
        rows = self._rows[first : max(first + 1, bisect_left(self.times, end))]
        free = self._free[rows].min(axis=0) - state.free
        devices = self._devices[rows].min(axis=0) - state.devices
        nodes = np.flatnonzero(free.any(axis=0) | devices.any(axis=(0, 2))).tolist()
        # Where nobody lends, the most of each counts; a cohort has to lend enough at each time.
        uses = self._usage[rows] if self._lends else self._usage[rows].max(axis=0)[None]
        used: Ints = np.array(state.quotas.usage, dtype=np.int64).reshape(uses[0].shape)
        more = (uses[0] - used).tolist()
        self._shift(free, devices, nodes, 1)
        for queue, row in enumerate(more):
            state.quotas.add(queue, row, 1, 0)
        state.quotas.at_other_times = uses[1:] - uses[0] if len(uses) > 1 else None
        try:
            yield
        finally:
            self._shift(free, devices, nodes, -1)
            # Who has come meanwhile stays, and uses what he asks for.
            for queue, row in enumerate(more):
                state.quotas.add(queue, row, -1, 0)
            state.quotas.at_other_times = None

    def _shift(self, free: Ints, devices: Ints, nodes: list[int], sign: int) -> None:
        state = self._state
        state.free += sign * free
        state.devices += sign * devices
        state.left += sign * free
        for row, r in enumerate(state.device_resources):
            state.left[r] += sign * devices[row].sum(axis=1)
        state.touched += nodes
