"""The queue worked through: in which order, and who may pass whom.

An *order* gives a job its rank; a *backfill* starts jobs that wait. To add one is to add it here.
Both are asked once all events of a moment have happened.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from kantopt.errors import UsageError
from kantopt.schema.hints import one_of, quote
from kantopt.schema.policy import Queueing
from kantopt.simulate.fair_share import FairShare
from kantopt.simulate.floor import Floor
from kantopt.simulate.orders import Order, Sequence, by_rank, fifo, priority
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


class NobodyPasses:
    """The first of the queue starts, then the next, until one does not fit."""

    def __init__(self, sequence: Sequence) -> None:
        self._sequence = sequence

    def __call__(self, floor: Floor) -> None:
        """Start who may start now."""
        for j in self._sequence(floor):
            if not floor.start(j):
                return

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
        # Where ranks do not change, nobody is asked who is like one that did not fit.
        by_kind = self._sequence is by_rank
        for j in floor.waiting.best_of_each() if by_kind else self._sequence(floor):
            floor.start(j)


class Nobody(NobodyPasses):
    """Nobody starts: the planner does it."""

    def __init__(self) -> None:
        super().__init__(by_rank)

    def __call__(self, floor: Floor) -> None:
        """Start nobody."""


ORDERS: dict[str, Callable[[Queueing], tuple[Order, Sequence]]] = {
    "fifo": lambda _: (fifo, by_rank),
    "priority": lambda _: (priority, by_rank),
    "fair-share": lambda queueing: (fifo, FairShare(queueing)),
    "virtual-finish": lambda queueing: (VirtualFinish(queueing), by_rank),
}
BACKFILLS: dict[str, Callable[[Queueing, Sequence], Backfill]] = {
    "none": lambda _, sequence: NobodyPasses(sequence),
    "best-effort": lambda _, sequence: BestEffort(sequence),
    "easy": lambda _, sequence: Reservations(1, sequence),
    "conservative": lambda queueing, sequence: Reservations(queueing.depth, sequence),
}


def queueing_of(policy: str, queueing: Queueing) -> tuple[Order, Backfill]:
    """Return order and backfill of a policy.

    Raises
    ------
    UsageError
        If the policy asks for what is not simulated.
    """
    for field, value, known in (
        ("order", queueing.order, list(ORDERS)),
        ("backfill", queueing.backfill, list(BACKFILLS)),
    ):
        if value not in known:
            found = f"{quote(value)}, which is not simulated yet"
            where = f"policy {policy}: queueing.{field}"
            raise UsageError(f"{where}: found {found}, expected {one_of(known)}")
    for field in ("preemption", "reclaim", "preempt_backfilled"):
        if getattr(queueing, field):
            found = "true, which is not simulated yet"
            raise UsageError(f"policy {policy}: queueing.{field}: found {found}, expected false")
    order, sequence = ORDERS[queueing.order](queueing)
    return order, BACKFILLS[queueing.backfill](queueing, sequence)
