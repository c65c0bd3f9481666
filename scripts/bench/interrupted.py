"""One run of ``kantopt plan`` that something happens to, watched from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kantopt.memory import shared_out_bytes
from scripts.bench.process import environment, read_news

Way = Literal["kill", "memory", "SIGINT", "SIGTERM"]
"""The solver is killed, memory runs short, Ctrl-C (to both processes), SIGTERM (to the planner)."""

Phase = Literal["reading", "fast", "search", "improved", "finished"]
"""Where a run was, by its own news: the input is read; the fast path works; the solver runs and
has found nothing better yet; it has; nothing was left to interrupt."""
PHASES: tuple[Phase, ...] = ("reading", "fast", "search", "improved", "finished")

_LOOK_SECONDS = 0.01
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Moment:
    """So many seconds after the run has told of an event: ``reading``, ``planning``, ``search``."""

    event: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """How an interrupted run went on."""

    phase: Phase
    at_seconds: float | None
    """When it was interrupted, since its begin; ``None`` if that cannot be seen from outside."""
    after_seconds: float
    """From then to its end, or the whole time."""
    exit_code: int
    base_mib: int
    peak_mib: int
    """Most memory of all its processes together before the search and ever, as far as seen."""
    complaints: tuple[str, ...]
    """What it wrote to stderr that is no news and no warning."""
    left: int
    """Processes that outlived it."""


def run_interrupted(
    arguments: Sequence[str], way: Way, moment: Moment | None, folder: Path
) -> Ended:
    """Run the planner and interrupt it once.

    Parameters
    ----------
    arguments
        What follows ``kantopt plan``.
    way, moment
        What happens and when; a memory limit is among the arguments and needs no moment.
    folder
        Where the run keeps its temporary files.
    """
    command = [sys.executable, "-m", "kantopt", "plan", *arguments, "-v", "--log-format", "json"]
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**environment(), "TMPDIR": os.fspath(folder)},
        start_new_session=True,
    )
    watched = _Watched(process)
    acted: float | None = None
    phase: Phase = "finished"
    try:
        while watched.goes_on() and time.monotonic() < began + _PATIENCE_SECONDS:
            due = moment is not None and watched.is_due(moment) and watched.phase != "finished"
            if due and acted is None and _interrupt(process.pid, way):
                acted = time.monotonic()
                phase = watched.phase
            time.sleep(_LOOK_SECONDS)
    finally:
        # Of a run that has ended in order, nothing is left in its session.
        left = len(list(_members(process.pid))) if process.poll() is not None else 0
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        watched.look()
        watched.close()
    if moment is None:
        phase = watched.before_end
    return Ended(
        phase=phase,
        at_seconds=None if acted is None else acted - began,
        after_seconds=time.monotonic() - (began if acted is None else acted),
        exit_code=process.returncode,
        base_mib=watched.base_bytes // 2**20,
        peak_mib=watched.peak_bytes // 2**20,
        complaints=tuple(watched.complaints),
        left=left,
    )


class _Watched:
    """What a run has told so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        self._process = process
        self._pipe = process.stderr
        os.set_blocking(self._pipe.fileno(), False)
        self._rest = b""
        self._told: dict[str, float] = {}
        self.phase: Phase = "reading"
        self.before_end: Phase = "reading"
        self.peak_bytes = self.base_bytes = 0
        self.complaints: list[str] = []

    def goes_on(self) -> bool:
        """Look at everything; whether the run has not ended."""
        ended = self._process.poll() is not None
        self.look()
        held = sum(map(shared_out_bytes, _members(self._process.pid)))
        self.peak_bytes = max(self.peak_bytes, held)
        if "search" not in self._told:
            self.base_bytes = self.peak_bytes
        return not ended

    def is_due(self, moment: Moment) -> bool:
        """Whether a moment has come."""
        told = self._told.get(moment.event)
        return told is not None and time.monotonic() >= told + moment.seconds

    def close(self) -> None:
        """Read no more."""
        self._pipe.close()

    def look(self) -> None:
        """Read what has been written."""
        *lines, self._rest = (self._rest + (self._pipe.read() or b"")).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            news = read_news(text)
            if news is not None:
                if news.get("event") == "error":
                    self.complaints.append(str(news.get("message")))
                self._take(str(news.get("event", "")))
            elif not text.startswith("kantopt: warning: "):
                self.complaints.append(text)

    def _take(self, event: str) -> None:
        self._told.setdefault(event, time.monotonic())
        if event == "done":
            self.phase = "finished"
        if self.phase == "finished":
            return  # what is told after that, such as warnings, is no part of the run
        if event == "cp-sat":
            self.phase = "improved"
        elif event == "search" and self.phase != "improved":
            self.phase = "search"
        elif event == "planning":
            self.phase = "fast"
        self.before_end = self.phase


def _interrupt(planner: int, way: Way) -> bool:
    """Do it; whether there was something to do it to: a solver may not have been started yet."""
    with contextlib.suppress(ProcessLookupError):
        if way == "SIGINT":
            os.killpg(planner, signal.SIGINT)
        elif way == "SIGTERM":
            os.kill(planner, signal.SIGTERM)
        else:
            solvers = [process for process in _members(planner) if process != planner]
            for solver in solvers:
                os.kill(solver, signal.SIGKILL)
            return bool(solvers)
        return True
    return False


def _members(session: int) -> Iterator[int]:
    """Living processes of a session."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                # After the name of the program: state, parent, group, session.
                fields = Path("/proc", name, "stat").read_bytes().rsplit(b")", 1)[1].split()
                if int(fields[3]) == session and fields[0] != b"Z":
                    yield int(name)
