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
from kantopt.simulate.floor import Floor
from kantopt.simulate.orders import Order, by_rank, fifo, priority
from kantopt.simulate.reservations import Reservations


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

    def __call__(self, floor: Floor) -> None:
        """Start who may start now."""
        while (j := floor.waiting.first()) is not None and floor.start(j):
            pass

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
        for j in floor.waiting.best_of_each():
            floor.start(j)


class Nobody(NobodyPasses):
    """Nobody starts: the planner does it."""

    def __call__(self, floor: Floor) -> None:
        """Start nobody."""


ORDERS: dict[str, Order] = {"fifo": fifo, "priority": priority}
BACKFILLS: dict[str, Callable[[Queueing], Backfill]] = {
    "none": lambda _: NobodyPasses(),
    "best-effort": lambda _: BestEffort(),
    "easy": lambda _: Reservations(1, by_rank),
    "conservative": lambda queueing: Reservations(queueing.depth, by_rank),
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
    return ORDERS[queueing.order], BACKFILLS[queueing.backfill](queueing)
