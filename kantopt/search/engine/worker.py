"""Processes that search parts of a question; one that dies takes nothing with it but its part."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Self

from kantopt.cp.solve import Budget
from kantopt.problem.parts import Part
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.known import Bound
from kantopt.search.told import Found, Note

Search = Callable[[Desk], bool]
"""Search a question; return whether it provably has no legal placement."""

_LONGEST = 200
"""Most of an error's text that is passed on."""


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


Message = Found | Bound | Note | Ended


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
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}

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
        worker = self._idle.pop() if self._idle else _Worker(self._search)
        worker.send(errand)
        self._busy[errand.part] = worker

    def offer(self, part: int, placement: Placement) -> None:
        """Tell the search of a part, if it is on, of a legal placement found elsewhere."""
        if part in self._busy:
            self._busy[part].send(Found(placement.podsets))

    def messages(self, seconds: float) -> Iterator[tuple[int, Message]]:
        """Yield what comes within some seconds, with the part that it is about.

        The last message about a part is :class:`Ended`.
        """
        parts = {worker.line: part for part, worker in self._busy.items()}
        for line in wait(list(parts), seconds):
            assert isinstance(line, Connection)
            part = parts[line]
            worker = self._busy[part]
            message = worker.receive()
            if isinstance(message, Ended):
                del self._busy[part]
                if worker.alive:
                    self._idle.append(worker)
            yield part, message

    def _search(self, line: Connection, errand: Errand) -> Ended:
        def news() -> Placement | None:
            latest: Placement | None = None
            while line.poll():
                latest = Placement(line.recv().podsets)
            return latest

        out = Line(
            found=lambda placement: line.send(Found(placement.podsets)),
            bound=line.send,
            note=lambda text: line.send(Note(text)),
            news=news,
        )
        budget = errand.budget
        instance = self._parts[errand.part].instance
        desk = Desk(instance, self._tiers, errand.start, (), budget, out, self._without)
        for bound in errand.proved:
            desk.incumbent.known.add(bound)
        infeasible = self._of_part(desk)
        return Ended(infeasible, cut=desk.over())


class _Worker:
    """One of the processes."""

    def __init__(self, search: Callable[[Connection, Errand], Ended]) -> None:
        self.alive = True
        self.line, far_end = Pipe()
        parent = os.getpid()
        self._pid = os.fork()  # not by multiprocessing: its daemons may have no children
        if self._pid == 0:
            try:
                self.line.close()
                _serve(far_end, search, parent)
            finally:
                os._exit(1)
        far_end.close()

    def send(self, item: Errand | Found) -> None:
        """Send to the process; of one that is dead, :meth:`receive` will tell."""
        with contextlib.suppress(OSError):
            self.line.send(item)

    def receive(self) -> Message:
        """Return a message that has come; the process is gone if it is none of its own."""
        try:
            message: Message = self.line.recv()
        except (EOFError, OSError):
            return Ended(fault=f"its process ended unexpectedly ({self.end()})")
        return message

    def end(self) -> str:
        """End the process; return how it has ended."""
        self.alive = False
        self.line.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


def _serve(line: Connection, search: Callable[[Connection, Errand], Ended], parent: int) -> None:
    """Search what is asked for until the line is closed; the body of the process."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever waits for the plan decides
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    watched = False
    with contextlib.suppress(EOFError, OSError):
        while True:
            errand = line.recv()
            if not isinstance(errand, Errand):
                continue  # news that came too late
            memory = errand.budget.deadline.stop.memory
            if memory is not None and not watched:
                memory.leave_when_reached(parent)
                watched = True
            line.send(_guarded(search, line, errand))


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
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())[:_LONGEST]
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        return Ended(fault=f"{type(error).__name__}: {text} ({where})")


def _end_with_parent(parent: int) -> None:
    """Leave when the parent is gone: nobody else would end a search that nobody listens to."""
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(0)
