"""How long work ran on a processor, and how long it was kept waiting for one."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

_WORTH_SAYING = 0.2
"""Seconds of waiting that are not worth a word."""


@dataclass(frozen=True, slots=True)
class CpuUse:
    """Seconds that work ran, and seconds that it could have and no processor took it.

    What waits for a file, a pipe or another process is in neither.
    """

    ran: float = 0.0
    waited: float = 0.0

    def __add__(self, other: CpuUse) -> CpuUse:
        return CpuUse(self.ran + other.ran, self.waited + other.waited)

    @property
    def starved(self) -> bool:
        """Whether it got less than two thirds of the time that it would have used.

        As many busy processes beside it as there are processors leave it about half.
        """
        return self.waited > max(self.ran / 2, _WORTH_SAYING)

    def __str__(self) -> str:
        return (
            f"starved of CPU: ran {self.ran:.1f} s and waited {self.waited:.1f} s for a processor "
            "(throttled by a CPU limit, or other load on the machine)"
        )


def own_use() -> CpuUse:
    """Return what this process has used since it began.

    The wait is that of its first thread, the only one that works for long; 0 where the system does
    not tell.
    """
    waited = 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        waited = int(Path("/proc/self/schedstat").read_bytes().split()[1]) / 1e9
    return CpuUse(time.process_time(), waited)


def starved_words(other: CpuUse) -> tuple[str, ...]:
    """Say so if this process and another were starved; to be asked if time ran out.

    Together, or this one: of another with several threads it is only known that one had work, so
    that it hides how long this one waited.

    Parameters
    ----------
    other
        What the other has used, the solver or whoever works for this process.
    """
    own = own_use()
    return tuple(str(used) for used in (own + other, own) if used.starved)[:1]


def busy_use(process: int | None, wall_seconds: float) -> CpuUse:
    """Return what another process has used that had work for at least one thread all the time.

    What it has begun itself works for it. Nothing where the system does not tell.

    Parameters
    ----------
    process
        Its id; it may have ended, as long as nobody has waited for it.
    wall_seconds
        How long it had work.
    """
    try:
        ran = _ticks(process) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return CpuUse()
    return CpuUse(ran, max(0.0, wall_seconds - ran))


def _ticks(process: int | str | None) -> int:
    """Ticks that a process ran, those of its children that it waited for and that still run."""
    fields = Path(f"/proc/{process}/stat").read_bytes().rsplit(b")", 1)[1].split()
    ticks = sum(map(int, fields[11:15]))
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        with contextlib.suppress(OSError, ValueError, IndexError):  # gone since
            ticks += _ticks(child)
    return ticks
