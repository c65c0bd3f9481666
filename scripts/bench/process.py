"""Runs of ``kantopt`` as processes of their own, those of ``plan`` measured from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import kantopt
from scripts.bench import timed

_PATIENCE_SECONDS = 60.0
"""How long a run may go on beyond three times its limit before it is ended."""


@dataclass(frozen=True, slots=True)
class Improvement:
    """A better plan, told while planning: seconds since the process began, tier values."""

    seconds: float
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a process went: ``read_seconds`` is when all was read, ``done_seconds`` when the plan was
    complete, before writing."""

    wall_seconds: float
    cpu_seconds: float
    peak_mib: int
    exit_code: int
    improvements: tuple[Improvement, ...] = ()
    read_seconds: float | None = None
    done_seconds: float | None = None
    complaints: tuple[str, ...] = ()


class Stopped(Exception):  # noqa: N818
    """No more runs are wanted: what one that was under way has said does not count."""


@dataclass(slots=True)
class Processes:
    """Runs under way, so that all can be ended at once; safe to use from several threads.

    Parameters
    ----------
    sources
        Folder from which they load ``kantopt``; by default the one that this process has it from.
    """

    sources: Path | None = None
    _running: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def stopped(self) -> bool:
        """Whether no more runs are wanted."""
        return self._stopped

    def stop(self) -> None:
        """End every run, and let none begin any more."""
        with self._lock:
            self._stopped = True
            for group in self._running:
                _kill(group)

    def plan(self, arguments: Sequence[str], limit_seconds: float, folder: Path) -> Ran | None:
        """Run ``kantopt plan`` and wait for it; ``None`` if it was stopped.

        Parameters
        ----------
        arguments
            What follows ``kantopt plan``.
        limit_seconds
            Its time limit; a run that goes far beyond is killed.
        folder
            For temporary files.
        """
        report, out, err = (folder / name for name in ("report", "out", "err"))
        report.unlink(missing_ok=True)
        # -P: the folder that a benchmark is started in is not where to load from.
        planner = [sys.executable, "-P", "-m", "kantopt", "plan", *arguments]
        planner += ["--log-format", "json"]
        files = [str(path) for path in (report, out, err)]
        launcher = [sys.executable, "-I", "-S", timed.__file__, *files, *planner]
        try:
            with self._begun(launcher) as process, contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(3 * limit_seconds + _PATIENCE_SECONDS)
        except Stopped:
            return None
        return _read(report, err, limit_seconds)

    def call(
        self, arguments: Sequence[str], patience_seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of kantopt and return what it says.

        Raises
        ------
        Stopped
            If no more runs are wanted.
        subprocess.TimeoutExpired
            If it takes too long; it is killed then.
        """
        command = [sys.executable, "-m", "kantopt", *arguments]
        with self._begun(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            out, err = process.communicate(timeout=patience_seconds)
            code = process.returncode
        texts = (said.decode("utf-8", errors="replace") for said in (out, err))
        return subprocess.CompletedProcess(command, code, *texts)

    @contextlib.contextmanager
    def _begun(
        self, command: Sequence[str], *, stdout: int | None = None, stderr: int | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Begin a process; at the end nothing of its session is left.

        A session of its own: Ctrl-C is ours to handle, and what is left can be ended whole.
        """
        with self._lock:
            if self._stopped:
                raise Stopped
            process = subprocess.Popen(
                command,
                env=environment(self.sources),
                start_new_session=True,
                stdout=stdout,
                stderr=stderr,
            )
            self._running.add(process.pid)
        try:
            yield process
        finally:
            with self._lock:
                _kill(process.pid)
                self._running.discard(process.pid)
            process.wait()
        if self._stopped:
            raise Stopped


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def environment(sources: Path | None = None) -> dict[str, str]:
    """Environment in which ``python -m kantopt`` runs these sources, or those in a folder."""
    ours = str(sources or Path(kantopt.__file__).resolve().parent.parent)
    others = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([ours, *([others] if others else [])])}


def _read(report: Path, err: Path, limit_seconds: float) -> Ran:
    improvements: list[Improvement] = []
    told: dict[str, float] = {}
    complaints: list[str] = []
    with contextlib.suppress(FileNotFoundError):
        for line in err.read_text(encoding="utf-8", errors="replace").splitlines():
            news = read_news(line)
            if news is None:
                complaints.append(line)
            elif "message" in news:
                complaints.append(f"kantopt: {news.get('event')}: {news['message']}")
            elif "values" in news:
                improvements.append(Improvement(float(news["t"]), tuple(news["values"])))
            else:
                told[str(news.get("event"))] = float(news["t"])
    try:
        wall, peak_kib, code, cpu = report.read_text(encoding="ascii").split()
    except (FileNotFoundError, ValueError):
        wall, peak_kib = str(3 * limit_seconds + _PATIENCE_SECONDS), "0"
        code, cpu = str(-signal.SIGKILL), "0"
    peak_mib = int(peak_kib) // 1024
    return Ran(
        wall_seconds=float(wall),
        cpu_seconds=float(cpu),
        peak_mib=peak_mib,
        exit_code=int(code),
        improvements=tuple(improvements),
        read_seconds=told.get("planning"),
        done_seconds=told.get("done"),
        complaints=tuple(complaints),
    )


def read_news(line: str) -> dict[str, Any] | None:
    """Read a line of ``--log-format json``; ``None`` if it is another one."""
    with contextlib.suppress(ValueError):
        data = json.loads(line)
        if isinstance(data, dict) and isinstance(data.get("t"), int | float):
            return data
    return None
