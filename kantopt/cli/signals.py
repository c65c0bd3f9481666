"""Ctrl-C, SIGTERM and SIGHUP: the first asks for the best plan so far, the second quits.

Before there is any, the first quits.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from kantopt.clock import Deadline, Stop
from kantopt.errors import InterruptedEarlyError, MissingInputError
from kantopt.schema.inputs import patience

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(BaseException):
    """SIGTERM or SIGHUP, as KeyboardInterrupt is SIGINT: ends everything, and cleans up.

    So does a SIGINT that comes before there is an answer.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


@contextlib.contextmanager
def stop_on_signals(deadline: Deadline) -> Iterator[None]:
    """Let the first signal set ``stop.signal`` of a deadline and the second raise.

    Before there is an answer that could be written (``Stop.answerable``) the first raises as well.
    While an input does not come so does the end of the time.
    """
    stop = deadline.stop

    def waiting(name: str) -> None:
        asked = stop.early if stop.signal is None else stop.signal
        if asked is not None:
            quit_now(asked, None)
        if deadline.over():
            raise MissingInputError(f"{name}: it did not come within the time limit")

    def first(number: int, _: FrameType | None) -> None:
        if not stop.answerable:
            stop.early = number
            _early.append(number)
            _quits.append(number)
            # Not KeyboardInterrupt: Python, having met one in code that it makes as it loads
            # modules, ends itself by the signal in place of an exit code.
            raise Terminated(number)
        stop.signal = number
        for each in _NUMBERS:
            if signal.getsignal(each) is not signal.SIG_IGN:
                signal.signal(each, quit_now)

    with _handlers(first), patience(waiting):
        yield


def exit_code(stop: Stop, code: int) -> int:
    """Return the exit code of a run: its own, or that of the signal that ended it early."""
    return code if stop.signal is None else 128 + stop.signal


@contextlib.contextmanager
def quit_on_signals() -> Iterator[None]:
    """Let signals raise, so that temporary files are removed."""
    _quits.clear()
    _early.clear()
    with _handlers(quit_now):
        yield


_quits: list[int] = []
"""Signals that have raised: not all that they are raised in lets through what it did not expect."""


_early: list[int] = []
"""Those of them that came before there was an answer."""


def came_early() -> InterruptedEarlyError | None:
    """Return what to say of a signal that ended a run before there was an answer."""
    return InterruptedEarlyError(_early[0]) if _early else None


def quit_code() -> int | None:
    """Return the exit code of a run that a signal has told to quit."""
    return 128 + _quits[0] if _quits else None


def quit_now(number: int, _: FrameType | None) -> NoReturn:
    """Raise what ends the program."""
    _quits.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise Terminated(number)


@contextlib.contextmanager
def _handlers(handler: object) -> Iterator[None]:
    before = {}
    for number in _NUMBERS:
        # Ignored on purpose by the parent (nohup, background jobs): it stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
