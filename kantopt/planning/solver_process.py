"""The exact search in a process of its own, which can be ended and sends what it finds."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, Protocol, Self

from kantopt.memory import ENDED

if TYPE_CHECKING:
    from kantopt.planning.messages import Done, Failed, Message, SearchTask
    from kantopt.problem.placement import Placement
    from kantopt.search.told import Found

# Started before anything else is loaded, so that the solver is when there is a question: what this
# needs of the problem is loaded by the process itself.

_CLOSE = 0.5
"""Seconds before its deadline from which on the clock may have ended a search."""

_BURIAL = 0.5
"""Most seconds to wait for a process that was killed: one that waits for a disk dies after that."""

LONGEST = 200
"""Most of an error's text that is passed on; a solver can name every variable it has."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
            self._thread.join(_BURIAL)

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
        context = multiprocessing.get_context("fork")
        # A solver that aborts says so on stderr: that is kept and told as one line.
        self._words = os.memfd_create("words") if hasattr(os, "memfd_create") else None
        self._line, far_end = context.Pipe()
        self._process = context.Process(
            target=_run, args=(far_end, self._line, os.getpid(), self._words), daemon=True
        )
        # Until the process has handlers of its own, no signal may end it the way of this one.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        far_end.close()
        self._outbox = _Outbox(self._line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it is doing; wait for its end, but not for ever."""
        self._process.kill()
        self._process.join(_BURIAL)
        self._outbox.close()
        self._line.close()
        if self._words is not None:
            os.close(self._words)
            self._words = None

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
        return self._process.pid

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
        if not self._line.poll(seconds):
            return None
        try:
            return self._line.recv()
        except (EOFError, OSError):
            from kantopt.planning.messages import Failed

            self._process.join()
            aborted = self._process.exitcode == -signal.SIGABRT
            return Failed(self._ending(), aborted)

    def _last_words(self) -> str:
        """Return the first line that the process wrote before its end, as far as it is short."""
        if self._words is None:
            return ""
        text = os.pread(self._words, 4096, 0).decode(errors="replace")
        return " ".join(text.partition("\n")[0].split())[:LONGEST]

    def _ending(self) -> str:
        code = self._process.exitcode
        if code == ENDED:
            return "the memory limit ended the exact search"
        how = f"exit code {code}"
        if code is not None and code < 0:
            how = f"signal {-code}"
            with contextlib.suppress(ValueError):
                how = f"signal {signal.Signals(-code).name}"
            last = self._last_words()
            how += f": {last}" if last else ""
        return f"the solver process ended unexpectedly ({how})"


def _run(line: Connection, near_end: Connection, parent: int, words: int | None) -> None:
    """Load the solver, wait for a task, search and send; the body of the process."""
    near_end.close()  # else the end of the parent would not be the end of the line
    _settle_in(parent)
    if words is not None:
        os.dup2(words, 2)
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
            stop.memory.leave_when_reached(parent)
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
        line.send(_failure(error))


def _search_in_turn(tasks: Sequence[SearchTask], line: Connection) -> None:
    """Search for one task after the other; the time that is left is shared out evenly."""
    from kantopt.planning.messages import Done

    for i, task in enumerate(tasks):
        if task.deadline.over():
            line.send((i, Done(infeasible=False, clocked=True)))
            continue
        share = task.deadline.remaining() / (len(tasks) - i)
        until = task.deadline.less(task.deadline.remaining() - share)
        numbered = _Numbered(line, i)
        try:
            numbered.send(_search(replace(task, deadline=until), numbered))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:
            numbered.send(_failure(error))


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


def _settle_in(parent: int) -> None:
    """Make a forked process one that only its parent talks to and that ends with it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Ctrl-C and a hang-up reach the parent, which decides. Blocked, not only ignored: CP-SAT sets a
    # handler of its own, which may fire while the solver is being taken down.
    signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGINT, signal.SIGHUP})
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a solver that prints must not reach stdout
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _failure(error: Exception) -> Failed:
    """Say what went wrong in a solver process, and where."""
    from kantopt.planning.messages import Failed

    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"
    text = " ".join(str(error).split())[:LONGEST]
    return Failed(f"the solver failed: {type(error).__name__}: {text} ({where})")


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
    from kantopt.planning.messages import Alone, Done, Started
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
        alone=lambda wanted: line.send(Alone(wanted)),
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
    infeasible = search(desk)
    # CP-SAT stops a little early where it expects the clock to ring before it would look again.
    return Done(infeasible, clocked=task.deadline.less(_CLOSE).over())


def _end_with_parent(parent: int) -> None:
    """Leave when the parent is gone: a solver that nobody listens to must not run on."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)
