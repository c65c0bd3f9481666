"""Bytes of inputs: whole, not without end, and not waited for without end either."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import IO
from weakref import WeakSet

from kantopt.errors import BadDataError, MissingInputError, Problem, UsageError, said_of

MAX_BYTES = 2 * 1024**3
"""Most of one input, as it is and unpacked."""

LOOK_SECONDS = 0.05
BLOCK = 1024**2

_streams_read: WeakSet[IO[str]] = WeakSet()
_patience: ContextVar[Callable[[str], None]] = ContextVar("patience", default=lambda _: None)


@contextlib.contextmanager
def patience(check: Callable[[str], None]) -> Iterator[None]:
    """Have something called again and again while nothing comes of an input, with its name.

    What it raises ends the wait. A pipe that nobody writes to, or a device, may never come to an
    end, and a call that waits for one hears neither of time nor of signals.
    """
    token = _patience.set(check)
    try:
        yield
    finally:
        _patience.reset(token)


def label_of(path: str) -> str:
    """How messages call an input."""
    return "<stdin>" if path == "-" else path


def read_bytes(path: str) -> bytes:
    """Read a file, or standard input for ``-``.

    Raises
    ------
    MissingInputError
        If there is no such file or it cannot be read.
    UsageError
        If standard input was read before: it can be read only once.
    BadDataError
        If there is more than :data:`MAX_BYTES` of it.
    """
    label = label_of(path)
    try:
        if path == "-":
            data = _from_stdin(label)
        elif _is_regular(path):
            with open(path, "rb") as file:
                data = b"".join(blocks_of(lambda: file.read(BLOCK)))
        else:
            with contextlib.ExitStack() as ending:

                def opened() -> int:
                    return ending.enter_context(open(path, "rb", buffering=0)).fileno()

                data = _awaited(opened, label)
    except (OSError, ValueError) as error:
        raise MissingInputError(f"{label}: cannot be read: {said_of(error)}") from None
    check_size(data, label)
    return data


def blocks_of(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield what is read piece by piece, a little more than :data:`MAX_BYTES` at most.

    Asked for all of them at once Python makes room for as many before it reads any.
    """
    size = 0
    while size <= MAX_BYTES and (block := read()):
        yield block
        size += len(block)


def look(name: str) -> None:
    """Do what :func:`patience` says while something does not come."""
    _patience.get()(name)


def check_size(data: bytes, label: str, what: str = "data") -> None:
    """Check that an input is not larger than can be meant.

    Raises
    ------
    BadDataError
        If it is.
    """
    if len(data) > MAX_BYTES:
        size = f"{MAX_BYTES // 1024**3} GiB"
        raise BadDataError([Problem(label, "", f"more than {size} of {what}", f"at most {size}")])


def _awaited(opened: Callable[[], int], label: str) -> bytes:
    """Read in a thread, so that time and signals are heard of while nothing comes."""
    blocks: list[bytes] = []
    faults: list[OSError | ValueError] = []

    def work() -> None:
        try:
            descriptor = opened()
            blocks.extend(blocks_of(lambda: os.read(descriptor, BLOCK)))
        except (OSError, ValueError) as error:
            faults.append(error)

    thread = threading.Thread(target=work, daemon=True)  # one that waits for ever is left behind
    thread.start()
    before = -1
    while thread.is_alive():
        if len(blocks) == before:
            look(label)
        before = len(blocks)
        thread.join(LOOK_SECONDS)
    if faults:
        raise faults[0]
    return b"".join(blocks)


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return True  # opening it says what is wrong


def _from_stdin(label: str) -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise MissingInputError("<stdin>: cannot be read: it is closed")
    if sys.stdin in _streams_read:
        raise UsageError("standard input (-) can be read only once")
    _streams_read.add(sys.stdin)
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    # Not through its buffer: a thread that waits there holds a lock that the end of Python needs.
    return _awaited(lambda: descriptor, label)
