"""In which order the queue is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kantopt.simulate.floor import Floor
from kantopt.simulate.waiting import Rank

Order = Callable[[Floor, int], Rank]
"""Rank of a job while it waits, the least first; to be told apart by its number at last."""
Sequence = Callable[[Floor], Iterator[int]]
"""Who is looked at, one after the other; who was yielded may have started when the next is."""


def fifo(floor: Floor, j: int) -> Rank:
    """By arrival; who was stopped comes back to where it was."""
    return floor.world.tasks[j].arrival, j


def priority(floor: Floor, j: int) -> Rank:
    """The highest priority first, then by arrival."""
    return -floor.world.instance.jobs[j].priority, floor.world.tasks[j].arrival, j


def by_rank(floor: Floor) -> Iterator[int]:
    """Yield who waits by rank."""
    return iter(list(floor.waiting))
