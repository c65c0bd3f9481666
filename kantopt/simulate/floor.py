"""What those who work through the queue see of a simulation, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from kantopt.clock import Stop
from kantopt.search.state import Change
from kantopt.simulate.cluster import Cluster
from kantopt.simulate.profile import NEVER
from kantopt.simulate.waiting import Waiting
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
    def restart_time(self) -> int:
        """Milliseconds until a job works again that was stopped before."""

    @property
    def waiting(self) -> Waiting:
        """Who waits."""

    @property
    def cluster(self) -> Cluster:
        """Where everybody is; to be looked at, or changed and put back as it was."""

    @property
    def running(self) -> Mapping[int, None]:
        """Who runs, in the order in which they started."""

    @property
    def short(self) -> Mapping[int, None]:
        """Who runs with fewer pods than it wants."""

    @property
    def work(self) -> list[Work]:
        """What each job has done: ``running``, since when it works ..."""

    def start(self, j: int, at: Iterable[Change] | None = None) -> bool:
        """Start a job that waits if it fits, or at places that are free; whether it did."""

    def evict(self, j: int) -> None:
        """Stop a job that runs for another; it waits again."""

    def put(self, j: int, gone: Sequence[Change], come: Sequence[Change]) -> bool:
        """Start, move, grow or shrink a job as planned: pod set, spot and pods of either.

        Returns whether the pods to go were there, and all rules hold; else nothing has happened.
        """

    @property
    def stop(self) -> Stop:
        """Whether somebody wishes to stop: what takes long looks at it."""


def length(floor: Floor, j: int) -> int:
    """Milliseconds that a job which waits would be there, by its estimate, restart included."""
    estimate, work = floor.world.tasks[j].estimate, floor.work[j]
    if estimate is None:
        return NEVER
    return max(1, estimate - work.done) + (floor.restart_time if work.disturbed else 0)


def ends(floor: Floor, j: int) -> int:
    """When a job that runs ends by its estimate; it may be past."""
    estimate, work = floor.world.tasks[j].estimate, floor.work[j]
    assert work.working is not None, "it runs"
    return NEVER if estimate is None else work.working + max(1, estimate - work.done)
