"""Room of victims, kept from those who may not evict them: part of R10, in a search's state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.schema.model import Rule
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import Change, State


@dataclass(frozen=True, slots=True)
class _Missing:
    """Amounts shaped like what a state has free, and the nodes where there are any."""

    nodes: list[int]
    free: Ints
    devices: Ints

    def or_more(self, other: _Missing) -> _Missing:
        """Return the larger of both, amount by amount."""
        return _Missing(
            [*self.nodes, *other.nodes],
            np.maximum(self.free, other.free),
            np.maximum(self.devices, other.devices),
        )


class KeptRoom:
    """What victims have left and more important arrivals do not fill: nobody else's.

    For each priority of a victim the free room of its node is looked at as if the victims of that
    priority and higher were back, and those who may evict it had not come. Nothing is worked out
    while nobody is evicted.

    Parameters
    ----------
    state
        Where pods are.
    left
        Returns the places that pod sets with victims have left: pod set, spot and pods.
    """

    def __init__(self, state: State, left: Callable[[], Sequence[Change]]) -> None:
        self._state = state
        self._left = left
        self._on = state.instance.strict and state.instance.on(Rule.PRIORITY)

    @contextmanager
    def held(self, j: int) -> Iterator[None]:
        """Take off the state, while a job is placed, the room that is kept from it."""
        state = self._state
        job = state.instance.jobs[j]
        left = self._left() if self._on else ()
        kept: _Missing | None = None
        for q in self._priorities(left):
            if not self._entitled(job, q):
                more = self._missing(left, q)
                kept = more if kept is None else kept.or_more(more)
        if kept is None:
            yield
            return
        state.free -= kept.free
        state.devices -= kept.devices
        state.touched += kept.nodes
        try:
            yield
        finally:
            state.free += kept.free
            state.devices += kept.devices
            state.touched += kept.nodes

    def holds(self) -> bool:
        """Whether all arrivals leave victims that they may not evict their room."""
        left = self._left() if self._on else ()
        state = self._state
        for q in self._priorities(left):
            missing = self._missing(left, q)
            short, few = state.free < missing.free, state.devices < missing.devices
            concerned = short.any(axis=0) | few.any(axis=(0, 2))
            for n in np.flatnonzero(concerned).tolist():
                arrived = [pod for pod, _ in self._arrivals(n) if not self._evicts(pod[0], q)]
                if any(self._asks(s, spot, short[:, n], few[:, n]) for s, spot in arrived):
                    return False
        return True

    def _asks(self, s: int, spot: Spot, short: Mask, few: Mask) -> bool:
        """Whether a pod asks for something that is short on its node, or on its devices."""
        shape, state = self._state.shape[s], self._state
        if any(short[r] for r, _ in shape.asks):
            return True
        return any(
            few[row, d]
            for need in shape.needs
            for d in spot.devices
            if d < state.device_class.shape[1]
            and state.device_class[spot.node, d] == need.device_class
            for row, _ in need.ask
        )

    def _priorities(self, left: Sequence[Change]) -> list[int]:
        """Priorities of the victims."""
        job_of = self._state.instance.job_of
        return sorted({job_of(s).priority for s, _, _ in left})

    def _evicts(self, s: int, priority: int) -> bool:
        return self._entitled(self._state.instance.job_of(s), priority)

    @staticmethod
    def _entitled(job: Job, priority: int) -> bool:
        return job.may_preempt and job.priority > priority

    def _arrivals(self, n: int) -> Iterator[tuple[tuple[int, Spot], int]]:
        yield from self._state.bound_on.get(n, {}).items()
        yield from self._state.moved_on.get(n, {}).items()

    def _missing(self, left: Sequence[Change], priority: int) -> _Missing:
        """What would be missing with the victims back and their preemptors away."""
        state = self._state
        gone = [x for x in left if state.instance.job_of(x[0]).priority >= priority]
        nodes = sorted({spot.node for _, spot, _ in gone})
        came = [
            (s, spot, -k)
            for n in nodes
            for (s, spot), k in self._arrivals(n)
            if self._evicts(s, priority)
        ]
        free, devices = np.zeros_like(state.free), np.zeros_like(state.devices)
        state.give([*gone, *came], free, devices)
        np.maximum(free, 0, out=free)
        np.maximum(devices, 0, out=devices)
        return _Missing(nodes, free, devices)


def room_of_the_gone(state: State) -> KeptRoom:
    """Return the room of those who are evicted as pods are placed now, if nobody else will be."""
    podsets = [p for p in state.instance.podsets if p.running and state.placed[p.index] < p.count]

    def left() -> list[Change]:
        return [
            (podset.index, spot, lost)
            for podset in podsets
            for spot, pods in sorted(podset.current.items())
            if (lost := pods - state.spots[podset.index].get(spot, 0)) > 0
        ]

    return KeptRoom(state, left)
