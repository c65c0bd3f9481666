"""The queue worked through: in which order, and who may pass whom.

An *order* gives a job its rank; a *backfill* starts jobs that wait. To add one is to add a function
and its name here. Both are asked once all events of a moment have happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kantopt.clock import Stop
from kantopt.errors import UsageError
from kantopt.schema.hints import one_of, quote
from kantopt.schema.policy import Queueing
from kantopt.search.state import Change
from kantopt.simulate.cluster import Cluster
from kantopt.simulate.waiting import Rank, Waiting
from kantopt.simulate.work import Work
from kantopt.simulate.world import World


class Floor(Protocol):
    """What those who work through the queue see, and what they may do."""

    @property
    def world(self) -> World:
        """All jobs, by number, with their tasks (arrival, estimate, user ...)."""

    @property
    def now(self) -> int:
        """Milliseconds since the start of the trace."""

    @property
    def waiting(self) -> Waiting:
        """Who waits."""

    @property
    def cluster(self) -> Cluster:
        """Where everybody is; to be looked at, or changed and put back as it was."""

    @property
    def work(self) -> list[Work]:
        """What each job has done: ``running``, since when it works ..."""

    def start(self, j: int) -> bool:
        """Start a job that waits if it fits; return whether it did."""

    def evict(self, j: int) -> None:
        """Stop a job that runs for another; it waits again."""

    def put(self, j: int, gone: Sequence[Change], come: Sequence[Change]) -> bool:
        """Start, move, grow or shrink a job as planned: pod set, spot and pods of either.

        Returns whether the pods to go were there, and all rules hold; else nothing has happened.
        """

    @property
    def stop(self) -> Stop:
        """Whether somebody wishes to stop: what takes long looks at it."""


Order = Callable[[Floor, int], Rank]
"""Rank of a job, the least first; to be told apart by the number of the job at last."""
Backfill = Callable[[Floor], None]
"""Starts who may start now."""


def fifo(floor: Floor, j: int) -> Rank:
    """By arrival; who was stopped comes back to where it was."""
    return floor.world.tasks[j].arrival, j


def nobody_passes(floor: Floor) -> None:
    """Start the first of the queue, then the next, until one does not fit."""
    while (j := floor.waiting.first()) is not None and floor.start(j):
        pass


def best_effort(floor: Floor) -> None:
    """Start everybody who fits, in order, whoever waits before."""
    for j in floor.waiting.best_of_each():
        floor.start(j)


def nobody(floor: Floor) -> None:
    """Start nobody: the planner does."""


ORDERS: dict[str, Order] = {"fifo": fifo}
BACKFILLS: dict[str, Backfill] = {"none": nobody_passes, "best-effort": best_effort}


def queueing_of(policy: str, queueing: Queueing) -> tuple[Order, Backfill]:
    """Return order and backfill of a policy.

    Raises
    ------
    UsageError
        If the policy asks for what is not simulated.
    """
    for field, value, known in (
        ("order", queueing.order, ORDERS),
        ("backfill", queueing.backfill, BACKFILLS),
    ):
        if value not in known:
            found = f"{quote(value)}, which is not simulated yet"
            expected = one_of(list(known))
            raise UsageError(
                f"policy {policy}: queueing.{field}: found {found}, expected {expected}"
            )
    for field in ("preemption", "reclaim", "preempt_backfilled"):
        if getattr(queueing, field):
            found = "true, which is not simulated yet"
            raise UsageError(f"policy {policy}: queueing.{field}: found {found}, expected false")
    return ORDERS[queueing.order], BACKFILLS[queueing.backfill]
