"""The exact search in a process of its own, which can be ended and sends what it finds."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, Protocol, Self

from kantopt.memory import ENDED
from kantopt.worker import Worker, fault_words

if TYPE_CHECKING:
    from kantopt.planning.messages import Done, Failed, Message, SearchTask
    from kantopt.problem.placement import Placement
    from kantopt.search.told import Found

# Started before anything else is loaded, so that the solver is when there is a question: what this
# needs of the problem is loaded by the process itself.

_CLOSE = 0.5
"""Seconds before its deadline from which on the clock may have ended a search."""

_FLUSH = 0.5
"""Most seconds to wait for what is being sent to a process that is gone."""


class _Outbox:
    """Sends to the process from a thread: one that does not listen must keep nobody waiting.

    The task goes first; of the placements only the latest that has not been sent.
    """

    def __init__(self, line: Connection) -> None:
        self._line = line
        self._changed = threading.Condition()
        self._waiting: Found | None = None
        self._open = True
        self._thread: threading.Thread | None = None

    def begin(self, task: SearchTask | tuple[SearchTask, ...]) -> None:
        """Have the task sent.

        It is written out here: what it refers to grows while others work on the same question.
        """
        packed = bytes(ForkingPickler.dumps(task))
        self._thread = threading.Thread(target=self._work, args=(packed,), daemon=True)
        self._thread.start()

    def offer(self, found: Found) -> None:
        """Have a placement sent; one that waits and has not been sent is dropped for it."""
        with self._changed:
            self._waiting = found
            self._changed.notify()

    def close(self) -> None:
        """Send nothing more; whoever listened is gone, so that nothing is being sent either."""
        with self._changed:
            self._open = False
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_FLUSH)

    def _work(self, packed: bytes) -> None:
        # A line that is closed while a large task is on its way: its number has become None.
        with contextlib.suppress(OSError, ValueError, TypeError):
            while True:
                self._line.send_bytes(packed)
                with self._changed:
                    while self._open and self._waiting is None:
                        self._changed.wait()
                    if self._waiting is None or not self._open:
                        return
                    item, self._waiting = self._waiting, None
                packed = bytes(ForkingPickler.dumps(item))


class SolverProcess:
    """A process that loads the solver at once and searches when it is given a task.

    Started before the input is read, it is ready when the question is. Use as a context manager:
    at its end the process is gone.
    """

    def __init__(self) -> None:
        # A solver that aborts says so on stderr: that is kept and told as one line.
        self._worker = Worker(_run, quiet=True)
        self._outbox = _Outbox(self._worker.line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it is doing; wait for its end, but not for ever."""
        self._worker.kill()
        self._outbox.close()
        self._worker.end()

    def begin(self, task: SearchTask) -> None:
        """Give the process its task; of one that is dead already, :meth:`messages` will tell."""
        self._outbox.begin(task)

    def begin_in_turn(self, tasks: Sequence[SearchTask]) -> None:
        """Give the process several tasks; :meth:`numbered` tells what it finds."""
        self._outbox.begin(tuple(tasks))

    def offer(self, placement: Placement) -> None:
        """Tell the search of a legal placement that was found elsewhere."""
        from kantopt.search.told import Found

        self._outbox.offer(Found(placement.podsets))

    @property
    def pid(self) -> int | None:
        """Identity of the process."""
        return self._worker.pid

    def message(self, seconds: float) -> Message | None:
        """Return what the search has sent, waiting for it for a while; ``None`` if nothing came.

        The last message is :class:`Done`, or :class:`Failed` if the search died.
        """
        message: Message | None = self._received(seconds)
        return message

    def numbered(self, seconds: float) -> tuple[int, Message] | Failed | None:
        """Return what the search for one of several tasks has sent, and the number of the task.

        Like :meth:`message`; if the process died, no number.
        """
        message: tuple[int, Message] | Failed | None = self._received(seconds)
        return message

    def _received(self, seconds: float) -> Any:
        line = self._worker.line
        if not line.poll(seconds):
            return None
        try:
            return line.recv()
        except (EOFError, OSError):
            from kantopt.planning.messages import Failed

            how = self._worker.ending()
            if self._worker.code == ENDED:
                return Failed("the memory limit ended the exact search")
            aborted = self._worker.code == -signal.SIGABRT
            return Failed(f"the solver process ended unexpectedly ({how})", aborted)


def _run(line: Connection) -> None:
    """Load the solver, wait for a task, search and send; the body of the process."""
    gc.disable()  # what is loaded is kept
    from kantopt.planning.messages import Failed, SearchTask

    try:
        from kantopt.search.schedule import load

        if not line.poll():
            load()

        task: SearchTask | tuple[SearchTask, ...] = line.recv()
        # Not before: a task is many small things, none of them garbage.
        gc.enable()
        tasks = (task,) if isinstance(task, SearchTask) else task
        stop = tasks[0].deadline.stop
        if stop.memory is not None:
            stop.memory.leave_when_reached(os.getppid())
            # The watch alone decides: a search that stopped by itself could not say why.
            for each in tasks:
                each.deadline.stop.memory = None
        if isinstance(task, SearchTask):
            line.send(_search(task, line))
        else:
            _search_in_turn(tasks, line)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # nobody listens any more
    except MemoryError:
        line.send(Failed("the solver ran out of memory"))
    except Exception as error:
        line.send(Failed(f"the solver failed: {fault_words(error)}"))


def _search_in_turn(tasks: Sequence[SearchTask], line: Connection) -> None:
    """Search for one task after the other; the time that is left is shared out evenly."""
    from kantopt.planning.messages import Done, Failed

    for i, task in enumerate(tasks):
        if task.deadline.over():
            line.send((i, Done(infeasible=False, clocked=True)))
            continue
        until = task.deadline.share(1 / (len(tasks) - i))
        numbered = _Numbered(line, i)
        try:
            numbered.send(_search(replace(task, deadline=until), numbered))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:
            numbered.send(Failed(f"the solver failed: {fault_words(error)}"))


class _Numbered:
    """A line on which every message bears the number of its task; nothing comes back."""

    def __init__(self, line: Connection, i: int) -> None:
        self._line = line
        self._i = i

    def send(self, message: Message, /) -> None:
        self._line.send((self._i, message))

    def poll(self) -> bool:
        return False

    def recv(self) -> Any:
        raise EOFError


class _Far(Protocol):
    """The far end of a line, as a search needs it."""

    def send(self, message: Message, /) -> None:
        """Send what was found."""

    def poll(self) -> bool:
        """Whether something has come."""

    def recv(self) -> Any:
        """Return what has come."""


def _search(task: SearchTask, line: _Far) -> Done:
    """Search, and send what is found and proved on the way."""
    from importlib.metadata import version

    from kantopt.cp.solve import Budget
    from kantopt.planning.messages import Done, Started
    from kantopt.problem.classes import merge_pods
    from kantopt.problem.placement import Placement
    from kantopt.search.engine.desk import Desk, Line
    from kantopt.search.schedule import search
    from kantopt.search.told import Begun, Found, LeftOut, Note

    merged = merge_pods(task.instance)

    def found(placement: Placement) -> None:
        line.send(Found(merged.expand(placement).podsets))

    def news() -> Placement | None:
        latest: Placement | None = None
        while line.poll():
            latest = Placement(line.recv().podsets)
        return None if latest is None else merged.shrink(latest)

    out = Line(
        found=found,
        bound=line.send,
        note=lambda text: line.send(Note(text)),
        begun=lambda technique: line.send(Begun(technique.name)),
        left_out=lambda technique, why: line.send(LeftOut(technique.name, why)),
        news=news,
    )
    line.send(Started(version("ortools")))
    desk = Desk(
        merged.instance,
        merged.tiers(task.tiers),
        merged.shrink(task.start),
        [merged.shrink(placement) for placement in task.forbidden],
        Budget(task.deadline, task.seed, task.workers, task.work, log=task.log, plain=task.plain),
        out,
        task.without,
    )
    for bound in task.known:
        desk.incumbent.known.add(bound)
    infeasible = search(desk)
    # CP-SAT stops a little early where it expects the clock to ring before it would look again.
    return Done(infeasible, clocked=task.deadline.less(_CLOSE).over())
