"""The queue worked through: in which order, and who may pass whom.

An *order* gives a job its rank; a *backfill* starts jobs that wait. To add one is to add it here.
Both are asked once all events of a moment have happened. One that remembers what does not follow
from the cluster and the queue is one that ``Remembers``: it says how that is written down.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

from kantopt.errors import UsageError
from kantopt.schema.extends import load_model
from kantopt.schema.policy import Policy, Queueing
from kantopt.simulate.fair_share import FairShare
from kantopt.simulate.floor import Floor
from kantopt.simulate.orders import Order, Sequence, by_rank, fifo, priority
from kantopt.simulate.plain import Data
from kantopt.simulate.preemption import Evictions, MakeRoom
from kantopt.simulate.reservations import Reservations
from kantopt.simulate.virtual_finish import VirtualFinish


class Backfill(Protocol):
    """Starts jobs of one simulation; it may remember what it has promised."""

    def __call__(self, floor: Floor) -> None:
        """Start who may start now."""

    @property
    def wakes(self) -> int | None:
        """When it wants to be asked again, though nothing else may happen; milliseconds."""

    def growing(self, floor: Floor, j: int) -> AbstractContextManager[None]:
        """Take room off the cluster that a job which runs must leave, while it gets more pods."""


@runtime_checkable
class Remembers(Protocol):
    """An order or backfill that remembers the past."""

    def memory(self) -> Data:
        """Write down what it remembers, between two moments."""

    def remember(self, floor: Floor, data: Data) -> None:
        """Take up, before anybody waits, what was written down of the same cluster."""


class NobodyPasses:
    """The first of the queue starts, then the next, until one does not fit."""

    def __init__(self, sequence: Sequence, make_room: MakeRoom | None = None) -> None:
        self._sequence, self._make_room = sequence, make_room

    def __call__(self, floor: Floor) -> None:
        """Start who may start now."""
        for j in self._sequence(floor):
            if not self._start(floor, j):
                return

    def _start(self, floor: Floor, j: int) -> bool:
        return floor.start(j) or (self._make_room is not None and self._make_room(floor, j))

    @property
    def wakes(self) -> int | None:
        """When something happens next is early enough."""
        return None

    def growing(self, floor: Floor, j: int) -> AbstractContextManager[None]:
        """Keep nothing."""
        return nullcontext()


class BestEffort(NobodyPasses):
    """Everybody starts who fits, in order, whoever waits before."""

    def __call__(self, floor: Floor) -> None:
        """Start who may start now."""
        # Where ranks do not change, nobody is asked who is like one that did not fit, unless one
        # may evict others and the other may not.
        by_kind = self._sequence is by_rank and self._make_room is None
        hopeful = floor.waiting.hopeful(floor.cluster.hopeless)
        for j in hopeful if by_kind else self._sequence(floor):
            self._start(floor, j)


class LeftToPlanner(NobodyPasses):
    """The planner starts who fits; who does not may evict others at once, and starts there."""

    def __call__(self, floor: Floor) -> None:
        """Start who may evict others for want of room."""
        if self._make_room is not None:
            for j in self._sequence(floor):
                if not floor.cluster.fits(j):
                    self._make_room(floor, j)


ORDERS: dict[str, Callable[[Queueing], tuple[Order, Sequence]]] = {
    "fifo": lambda _: (fifo, by_rank),
    "priority": lambda _: (priority, by_rank),
    "fair-share": lambda queueing: (fifo, FairShare(queueing)),
    "virtual-finish": lambda queueing: (VirtualFinish(queueing), by_rank),
}
BACKFILLS: dict[str, Callable[[Queueing, Sequence, MakeRoom | None], Backfill]] = {
    "none": lambda _, sequence, make_room: NobodyPasses(sequence, make_room),
    "best-effort": lambda _, sequence, make_room: BestEffort(sequence, make_room),
    "easy": lambda queueing, *how: _reservations(queueing, 1, *how),
    "conservative": lambda queueing, *how: _reservations(queueing, queueing.depth, *how),
}


def _reservations(
    queueing: Queueing, depth: int, sequence: Sequence, make_room: MakeRoom | None
) -> Reservations:
    return Reservations(depth, sequence, make_room, evict_backfilled=queueing.preempt_backfilled)


def queueing_of(policy: Policy) -> tuple[Order, Backfill]:
    """Return order and backfill of a policy.

    Raises
    ------
    UsageError
        If the policy asks for what does not go together.
    """
    queueing = policy.queueing
    where = f"policy {policy.metadata.name}: queueing"
    if queueing.preempt_backfilled and queueing.backfill not in ("easy", "conservative"):
        found = f"true with backfill {queueing.backfill}, which reserves nothing"
        raise UsageError(f"{where}.preemptBackfilled: found {found}, expected easy or conservative")
    order, sequence = ORDERS[queueing.order](queueing)
    make_room = Evictions(queueing) if queueing.preemption or queueing.reclaim else None
    planner = policy.placement.planner
    if planner is not None:
        if queueing.preempt_backfilled:
            expected = "false: with placement.planner nobody has a reservation"
            raise UsageError(f"{where}.preemptBackfilled: found true, expected {expected}")
        if make_room is not None and load_model(planner.model).limits.evictions != 0:
            found = f"evictions beside those of the planner's model {planner.model}"
            expected = "a model with limits: {evictions: 0}, such as packing, or neither of the two"
            raise UsageError(f"{where}: found {found}, expected {expected}")
        return order, LeftToPlanner(sequence, make_room)
    return order, BACKFILLS[queueing.backfill](queueing, sequence, make_room)
