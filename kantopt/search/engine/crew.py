"""Processes that search parts of a question; one that dies takes nothing with it but its part."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Self

from kantopt.budget import Budget
from kantopt.problem.derived.parts import Part
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.engine.desk import Desk, line_to
from kantopt.search.engine.known import Bound
from kantopt.search.engine.told import Asked, Found, Note
from kantopt.worker import Worker, fault_words

Search = Callable[[Desk], bool]
"""Search a question; return whether it provably has no legal placement."""


@dataclass(frozen=True, slots=True)
class Errand:
    """A part to search, by its index, and what is known of it."""

    part: int
    start: Placement
    proved: tuple[Bound, ...]
    budget: Budget


@dataclass(frozen=True, slots=True)
class Ended:
    """The search of the part is over."""

    infeasible: bool = False
    cut: bool = False
    """The clock has ended it."""
    fault: str = ""
    """What went wrong, if something did."""


Message = Found | Bound | Note | Asked | Ended


class Crew:
    """A few processes that search one part after the other. Use as a context manager.

    They are forked when they are needed and know the parts without being told.

    Parameters
    ----------
    size
        Most processes at a time.
    search
        What searches a part.
    without
        Techniques that are left out.
    """

    def __init__(
        self,
        size: int,
        parts: Sequence[Part],
        tiers: Sequence[Tier],
        search: Search,
        without: Collection[str] = (),
    ) -> None:
        self._size = size
        self._parts, self._tiers, self._of_part = parts, tuple(tiers), search
        self._without = without
        self._idle: list[Worker] = []
        self._busy: dict[int, Worker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in (*self._idle, *self._busy.values()):
            worker.end()

    @property
    def free(self) -> int:
        """How many more parts could be searched now."""
        return self._size - len(self._busy)

    def send(self, errand: Errand) -> None:
        """Have a part searched."""
        worker = self._idle.pop() if self._idle else Worker(self._serve)
        _send(worker, errand)
        self._busy[errand.part] = worker

    def offer(self, part: int, placement: Placement) -> None:
        """Tell the search of a part, if it is on, of a legal placement found elsewhere."""
        if part in self._busy:
            _send(self._busy[part], Found(placement.podsets))

    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        """Yield what comes within some seconds, with the part that it is about.

        The last message about a part is :class:`Ended`.
        """
        parts = {worker.line: part for part, worker in self._busy.items()}
        for line in wait(list(parts), seconds):
            assert isinstance(line, Connection)
            part = parts[line]
            worker = self._busy[part]
            message: Message
            try:
                message = line.recv()
            except (EOFError, OSError):
                message = Ended(fault=f"its process ended unexpectedly ({worker.ending()})")
                worker.end()
            if isinstance(message, Ended):
                del self._busy[part]
                if not worker.line.closed:
                    self._idle.append(worker)
            yield part, message

    def _serve(self, line: Connection) -> None:
        """Search what is asked for until the line is closed; the body of a process."""
        watched = False
        with contextlib.suppress(EOFError, OSError):
            while True:
                errand = line.recv()
                if not isinstance(errand, Errand):
                    continue  # news that came too late
                memory = errand.budget.deadline.stop.memory
                if memory is not None and not watched:
                    memory.leave_when_reached(os.getppid())
                    watched = True
                line.send(_guarded(self._search, line, errand))

    def _search(self, line: Connection, errand: Errand) -> Ended:
        budget, out = errand.budget, line_to(line)
        instance = self._parts[errand.part].instance
        desk = Desk(instance, self._tiers, errand.start, (), budget, out, self._without)
        for bound in errand.proved:
            desk.incumbent.known.add(bound)
        infeasible = self._of_part(desk)
        return Ended(infeasible, cut=desk.over())


def _send(worker: Worker, item: Errand | Found) -> None:
    """Send to a process; of one that is dead, the line will tell."""
    with contextlib.suppress(OSError):
        worker.line.send(item)


def _guarded(
    search: Callable[[Connection, Errand], Ended], line: Connection, errand: Errand
) -> Ended:
    try:
        return search(line, errand)
    except MemoryError:
        return Ended(fault="it ran out of memory")
    except OSError:
        raise  # nobody listens any more
    except Exception as error:
        return Ended(fault=fault_words(error))
