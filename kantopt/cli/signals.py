"""Ctrl-C and SIGTERM: the first asks for the best plan so far, the second quits."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from kantopt.clock import Stop

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class Terminated(BaseException):
    """SIGTERM, as KeyboardInterrupt is SIGINT: ends everything, and cleans up on the way."""


@contextlib.contextmanager
def stop_on_signals(stop: Stop) -> Iterator[None]:
    """Let the first signal set ``stop.signal`` and the second raise."""

    def first(number: int, _: FrameType | None) -> None:
        stop.signal = number
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, quit_now)

    with _handlers(first):
        yield


@contextlib.contextmanager
def quit_on_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise, so that temporary files are removed."""
    with _handlers(quit_now):
        yield


def quit_now(number: int, _: FrameType | None) -> NoReturn:
    """Raise what ends the program."""
    if number == signal.SIGTERM:
        raise Terminated
    raise KeyboardInterrupt


@contextlib.contextmanager
def _handlers(handler: object) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {}
    for number in numbers:
        # Ignored on purpose by the parent (nohup, background jobs): it stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
