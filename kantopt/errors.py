"""Errors that a user sees; each knows its exit code (the codes are those of sysexits.h)."""

from __future__ import annotations

import signal
from dataclasses import dataclass


class KantoptError(Exception):
    """Anything that ends a command with one clear message; never a traceback."""

    exit_code = 1


class UsageError(KantoptError):
    """The command line cannot be understood."""

    exit_code = 64


class MissingInputError(KantoptError):
    """An input does not exist or may not be read."""

    exit_code = 66


class SystemRefusesError(KantoptError):
    """The system refuses what a run cannot do without: open files, processes."""

    exit_code = 71


class CannotCreateError(KantoptError):
    """An output cannot be created: no such folder, no permission."""

    exit_code = 73


class WriteError(KantoptError):
    """An output could be opened but not written: the disk is full, the pipe is closed."""

    exit_code = 74


class StdoutError(WriteError):
    """Standard output takes no answer: it is closed, on a full disk, a terminal that hung up."""


class LockHeldError(KantoptError):
    """Another run holds the lock; trying again later may do."""

    exit_code = 75


class InterruptedEarlyError(KantoptError):
    """A signal came before there was anything to answer with."""

    def __init__(self, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__(f"interrupted by {name} before there was an answer: nothing is written")
        self.exit_code = 128 + number


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with a document.

    ``path`` is the place in the document (``jobs[3].podSets[0].count``), ``found`` what stands
    there and ``expected`` what should; ``hint`` may add a "did you mean".
    """

    file: str
    path: str
    found: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.file}: {self.path}" if self.path else self.file
        tail = f" ({self.hint})" if self.hint else ""
        return f"{where}: found {self.found}, expected {self.expected}{tail}"


class BadDataError(KantoptError):
    """Documents that cannot be used; carries every problem found, not only the first."""

    exit_code = 65

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def __reduce__(self) -> tuple[type[BadDataError], tuple[list[Problem]]]:
        return type(self), (self.problems,)  # told apart, it is made of its problems again


def said_of(error: OSError | ValueError) -> str:
    """Return what the system says is wrong with a file, as part of a message."""
    text = error.strerror if isinstance(error, OSError) else None
    return (text or str(error)).lower()
