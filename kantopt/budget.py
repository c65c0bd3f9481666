"""What an exact search may spend, and how the solver goes about it; OR-Tools is not needed here."""

from __future__ import annotations

from dataclasses import dataclass

from kantopt.clock import Deadline


@dataclass(frozen=True, slots=True)
class Budget:
    """What an exact search may spend.

    ``work`` is a limit in CP-SAT's deterministic seconds, for runs that must be repeatable.
    """

    deadline: Deadline
    seed: int = 0
    workers: int = 2
    work: float | None = None
    log: str | None = None
    """File that CP-SAT's log is appended to."""
    plain: bool = False
    """Without presolve: CP-SAT has aborted in it before."""

    @property
    def threads(self) -> int:
        """Threads of CP-SAT: one where a run must be repeatable.

        Interleaved search promises to be repeatable on several; but of two solutions as good as
        each other it keeps the one that comes first, and which that is the threads race for. One
        thread alone needs no turns, and gets much further.
        """
        return self.workers if self.work is None else 1
