"""How much memory is in use, how much there may be, and what ends where it runs short.

A limit ends the search, never the answer: the solver's process leaves first, by itself, and what
it found is with its parent; if that one alone comes near the limit, its deadlines are over and it
writes the best plan so far. Where the system does not tell what is in use (no ``/proc``), a limit
is without effect.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kantopt.clock import elapsed

ENDED = 77
"""Exit code of a process that has left because of its limit."""

PERIOD = 0.02
"""Seconds between two looks; a solver rarely takes more than some MiB in this time."""

_RESERVE_SHARE, _RESERVE_BYTES = 8, 32 * 2**20
"""The larger of one part in so many and so much is kept: for what a solver takes between two looks,
and for ordering, verifying and writing the plan."""

_NO_LIMIT = 2**60
"""From here on a limit of a cgroup is its way of writing that there is none."""


@dataclass(slots=True)
class MemoryLimit:
    """Bytes that this process and its solver may have in memory together.

    ``source`` tells who set it: the user who asked for it, or the cgroup (container) they run in.
    """

    bytes: int
    source: Literal["user", "cgroup"] = "user"
    _next: float = 0.0
    _reached: bool = False

    def __str__(self) -> str:
        whose = " of the cgroup" if self.source == "cgroup" else ""
        return f"the memory limit{whose} of {self.bytes // 2**20} MiB"

    @property
    def near(self) -> int:
        """Bytes from which on the limit counts as reached."""
        return self.bytes - max(self.bytes // _RESERVE_SHARE, _RESERVE_BYTES)

    def reached(self) -> bool:
        """Whether this process alone has come near the limit; once it has, it stays so."""
        if not self._reached and elapsed() >= self._next:
            self._next = elapsed() + PERIOD
            self._reached = hold_more(self.near, os.getpid())
        return self._reached

    def leave_when_reached(self, parent: int) -> None:
        """Watch this process and its parent, and leave with :data:`ENDED` when both come near.

        For the solver's process. It also becomes the first that the kernel takes where memory
        runs out before the watch can tell.
        """
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_bytes(b"1000")
        threading.Thread(target=self._leave, args=(parent,), daemon=True).start()

    def _leave(self, parent: int) -> None:
        while not hold_more(self.near, os.getpid(), parent):
            time.sleep(PERIOD)
        os._exit(ENDED)


def hold_more(limit_bytes: int, *processes: int) -> bool:
    """Whether processes, given by their ids, hold more memory together than so much."""
    more = sum(map(resident_bytes, processes)) > limit_bytes
    if not more or len(processes) == 1:
        return more
    # Pages that a fork shares were counted twice; the exact figure is slow to get.
    return sum(map(shared_out_bytes, processes)) > limit_bytes


def is_told() -> bool:
    """Whether the system tells how much memory is in use."""
    return resident_bytes(os.getpid()) > 0


def resident_bytes(process: int) -> int:
    """Bytes that a process holds in memory; 0 if it is gone or the system does not tell."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def shared_out_bytes(process: int) -> int:
    """Bytes that a process holds, each page divided by the number of processes that share it."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
    except (OSError, ValueError, IndexError):
        return resident_bytes(process)


def cgroup_limit(root: Path = Path("/")) -> MemoryLimit | None:
    """Return what the cgroups of this process leave it; ``None`` if none sets a limit.

    What others in the same group hold is taken off, but for cached files, which make room.

    Parameters
    ----------
    root
        Folder that holds ``proc`` and ``sys``.
    """
    left = list(_left_bytes(root))
    if not left:
        return None
    return MemoryLimit(max(0, min(left)) + resident_bytes(os.getpid()), "cgroup")


def _left_bytes(root: Path) -> Iterator[int]:
    """Bytes left in each group with a limit, of version 2 and of version 1."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mount, names = "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            mount = "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # In a container the path may be the host's: then only the root of the mount exists.
        own = root / mount / path.lstrip("/")
        for group in (own, *own.parents):
            with contextlib.suppress(OSError, ValueError, StopIteration):
                yield _left_in(group, *names)
            if group == root / mount:
                break


def _left_in(group: Path, most: str, used: str, cached: str) -> int:
    """Bytes left in a group; ``ValueError`` if it has no limit (version 2 writes ``max``)."""
    limit = int((group / most).read_text(encoding="ascii"))
    if limit >= _NO_LIMIT:
        raise ValueError("no limit")
    stat = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    files = next(int(line.split()[1]) for line in stat if line.split()[0] == cached)
    return limit - int((group / used).read_text(encoding="ascii")) + files
