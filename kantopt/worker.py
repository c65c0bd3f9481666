"""A process of its own for what may die, run on or take all the memory: forked, with a line to it.

It shares with its parent what was there when it was forked, and nothing after that: what it finds
it sends. So it can be ended at any moment, and only what it had not sent is lost.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import NoReturn, Self

LONGEST = 200
"""Most of an error's text that is passed on; a solver can name every variable it has."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK = 0.1
"""Seconds between two looks whether the parent is still there."""
_BURIAL = 0.5
"""Most seconds to wait for a process that was killed: one that waits for a disk dies after that."""


class Worker:
    """A forked process. Use as a context manager: at its end the process is gone.

    It may have processes of its own. It ends with its parent, whatever becomes of that; Ctrl-C and
    a hang-up reach the parent alone, which decides; SIGTERM ends it; it cannot write to stdout.

    Parameters
    ----------
    body
        What it does, with its end of the line; an error in it goes to stderr.
    quiet
        Whether what it writes to stderr is kept, to be told as one line if it dies.
    """

    def __init__(self, body: Callable[[Connection], object], *, quiet: bool = False) -> None:
        kept = quiet and hasattr(os, "memfd_create")
        self._words = os.memfd_create("words") if kept else None
        self.line, far_end = Pipe()
        """This end of the line; the other one is closed when the process is gone."""
        self.code: int | None = None
        """How it has ended, once that is known: exit code, or less the number of a signal."""
        self._killed = False
        parent = os.getpid()
        # Until the process has handlers of its own, no signal may end it the way of this one.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._live(body, far_end, parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        far_end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def kill(self) -> None:
        """End the process, whatever it is doing; wait for its end, but not for ever."""
        if self.code is None and not self._killed:
            self._killed = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait(_BURIAL)

    def end(self) -> None:
        """Kill the process and close its line."""
        self.kill()
        self.line.close()
        if self._words is not None:
            os.close(self._words)
            self._words = None

    def wait(self, seconds: float) -> None:
        """Wait until the process has ended, for some seconds at most."""
        until, pause = time.monotonic() + seconds, 0.0005
        while self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= until:
                return
            else:
                time.sleep(pause)
                pause = min(0.01, 2 * pause)

    def ending(self) -> str:
        """Wait for a process whose line is closed; say how it has ended, with its last words."""
        self.wait(_BURIAL)
        if self.code is None:
            return "no exit code yet"
        if self.code >= 0:
            return f"exit code {self.code}"
        how = f"signal {-self.code}"
        with contextlib.suppress(ValueError):
            how = f"signal {signal.Signals(-self.code).name}"
        last = self._last_words()
        return f"{how}: {last}" if last else how

    def _last_words(self) -> str:
        """Return the first line that the process wrote before its end, as far as it is short."""
        if self._words is None:
            return ""
        text = os.pread(self._words, 4096, 0).decode(errors="replace")
        return " ".join(text.partition("\n")[0].split())[:LONGEST]

    def _live(
        self, body: Callable[[Connection], object], line: Connection, parent: int
    ) -> NoReturn:
        """Do what there is to do and leave; never return to what the parent was doing."""
        code = 1
        try:
            self.line.close()  # else the end of the parent would not be the end of the line
            _settle_in(parent)
            if self._words is not None:
                os.dup2(self._words, 2)
            body(line)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)


def fault_words(error: Exception) -> str:
    """Say in one line what went wrong in a process, and where."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())[:LONGEST]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"
    return f"{type(error).__name__}: {text} ({where})"


def _settle_in(parent: int) -> None:
    """Make this a process that only its parent talks to and that ends with it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Blocked, not only ignored: CP-SAT sets a handler of its own for Ctrl-C, which may fire while
    # the solver is being taken down.
    signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGINT, signal.SIGHUP})
    with contextlib.suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)  # a solver that prints must not reach stdout
        os.close(nothing)
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    """Leave when the parent is gone: what nobody listens to must not run on."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(0)
