"""What happens when: a calendar of events, in an order that nothing but they decide."""

from __future__ import annotations

import heapq
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """Kinds of events, in the order in which those of one moment happen."""

    END = 0
    """A job is done."""
    ENDING = 1
    """A job is told to end."""
    REPAIR = 2
    OUTAGE = 3
    WORKS = 4
    """Pods that restarted work again."""
    OF_AGE = 5
    """A job has run for its ``minRuntime``: others may take its room from now on."""
    ARRIVAL = 6
    PLANNED = 7
    """A plan has been made in its time: what it does begins."""
    WAVE = 8
    """The next wave of a defragmentation."""
    CYCLE = 9
    """The planner looks at what waits."""
    ROUND = 10
    """A defragmentation begins."""


class Event(NamedTuple):
    """Something at a moment, in milliseconds since the start of the trace."""

    at: int
    kind: int
    subject: int
    """Job or node."""
    version: int = 0
    """Of a job: which of its stays is meant; of those before, the event is out of date."""


class Calendar:
    """Events to come, the first of them first: by time, kind, and number of job or node."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        """Enter an event."""
        heapq.heappush(self.events, event)

    @property
    def next(self) -> int | None:
        """When something happens next; ``None`` if nothing does."""
        return self.events[0].at if self.events else None

    def pop(self) -> Event:
        """Take the next event out."""
        return heapq.heappop(self.events)
