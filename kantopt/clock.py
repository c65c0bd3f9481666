"""The one place where the clock is read: time since the process began, deadlines, the hour."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, TypeVar

from kantopt.errors import InterruptedEarlyError, UsageError

if TYPE_CHECKING:
    from kantopt.memory import MemoryLimit


def _age_at_import() -> float:
    """Seconds since the process began; 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            ticks = int(stat.read().rsplit(b")", 1)[1].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0


_Item = TypeVar("_Item")
_START = time.monotonic() - _age_at_import()


def elapsed() -> float:
    """Seconds since the process began."""
    return time.monotonic() - _START


def utc_now() -> datetime:
    """Moment on the calendar, in UTC: how old a snapshot is, when a run took place.

    The environment variable ``KANTOPT_NOW`` stands in for it, for trials of scheduled runs.

    Raises
    ------
    UsageError
        If that variable holds no RFC 3339 time.
    """
    told = os.environ.get("KANTOPT_NOW")
    if not told:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(told)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass  # said as of one without a zone
    expected = "a time such as 2026-09-01T03:00:00Z"
    raise UsageError(f"KANTOPT_NOW: found {told!r}, expected {expected}")


def rfc3339(moment: datetime) -> str:
    """Write a moment in UTC as documents have it, to the second."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Stop:
    """A wish to stop, by a signal or for want of memory; deadlines that carry it are then over."""

    signal: int | None = None
    memory: MemoryLimit | None = None
    answerable: bool = False
    """There is a question with an answer to write, if only to do nothing; a signal asks for it.

    Until then there is nothing to wait for: a signal ends the run at once.
    """
    early: int | None = None
    """A signal that came before that."""

    def begin(self) -> None:
        """Say that from here on there is an answer to write.

        Raises
        ------
        InterruptedEarlyError
            If a signal came before and the run goes on: compiled code drops what is raised in it
            now and then.
        """
        if self.early is not None:
            raise InterruptedEarlyError(self.early)
        self.answerable = True

    def wished(self) -> bool:
        """Whether to stop, whatever the time is."""
        return self.signal is not None or self.lacks_memory()

    def lacks_memory(self) -> bool:
        """Whether there is a memory limit and this process has come near it."""
        return self.memory is not None and self.memory.reached()


@dataclass(slots=True)
class Reserve:
    """Seconds that are kept for what comes after; they may change while a deadline leaves them."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment to be done by, in seconds since the process began; ``None`` is never.

    With ``deterministic`` set the clock should not decide what comes out: parts then count work.
    """

    at: float | None
    deterministic: bool = False
    stop: Stop = field(default_factory=Stop)
    whole: float | None = None
    """What a shorter one was made from; see :attr:`asked`."""
    reserve: Reserve | None = None
    """What is left besides, as much as it is at the time."""

    @classmethod
    def within(cls, seconds: float, *, deterministic: bool = False) -> Self:
        """Return a deadline some seconds from now, which are what is :attr:`asked` for.

        So the work that is counted from them is the same at any hour.
        """
        return cls(elapsed() + seconds, deterministic, whole=seconds)

    @property
    def asked(self) -> float | None:
        """The time limit itself, however much of it was taken off for something else.

        Work is to be counted from this: what is taken off was measured, and differs each time.
        """
        return self.at if self.whole is None else self.whole

    def remaining(self) -> float:
        """Seconds left, at least 0; a day if there is no limit."""
        if self.stop.wished():
            return 0.0
        if self.at is None:
            return 86_400.0
        kept = 0.0 if self.reserve is None else self.reserve.seconds
        return max(0.0, self.at - kept - elapsed())

    def over(self) -> bool:
        """Whether the time is up."""
        return self.remaining() <= 0.0

    def cuts(self) -> bool:
        """Whether to stop what counts its own work where runs are to be repeatable.

        The clock does not decide there; a signal and want of memory do.
        """
        return self.stop.wished() if self.deterministic else self.over()

    def less(self, seconds: float) -> Deadline:
        """Return a deadline that leaves some seconds for what comes after."""
        return self if self.at is None else replace(self, at=self.at - seconds, whole=self.asked)

    def leaving(self, reserve: Reserve) -> Deadline:
        """Return a deadline that leaves a reserve for what comes after, however that changes."""
        return replace(self, reserve=reserve)

    def share(self, part: float) -> Deadline:
        """Return a deadline that leaves all but a part of the time that is left."""
        return self.less(self.remaining() * (1 - part))

    def dealt(self, items: Sequence[_Item]) -> Iterator[tuple[_Item, Deadline]]:
        """Yield each item with an equal share of the time that is left when its turn comes.

        What one does not use is for those after it.
        """
        for i, item in enumerate(items):
            yield item, self.share(1 / (len(items) - i))

    def at_most(self, seconds: float) -> Deadline:
        """Return a deadline that is so many seconds away, or less."""
        return self.less(max(0.0, self.remaining() - seconds))

    def at_least(self, seconds: float) -> Deadline:
        """Return a deadline that is so many seconds away, or more; a wish to stop still ends it."""
        if self.at is None or self.remaining() >= seconds:
            return self
        return replace(self, at=elapsed() + seconds, whole=self.asked, reserve=None)
