"""One run at a time: a file that the running one holds."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from datetime import datetime

from kantopt.clock import rfc3339
from kantopt.errors import CannotCreateError, LockHeldError, said_of

_LOOKS = 3
_LOOK_SECONDS = 0.02
"""A holder that has the lock but has not yet written who it is gets this long to do so."""


@contextlib.contextmanager
def lock_held(path: str, now: datetime) -> Iterator[None]:
    """Hold a lock file while a run goes on.

    The lock is that of flock(2): it ends with the process, however that ends, and ``flock(1)`` in a
    script respects it. The file stays; while it is held it says by whom.

    Parameters
    ----------
    path
        The file; made if it is missing.
    now
        What to say about since when.

    Raises
    ------
    LockHeldError
        If another process holds it; says which and since when, as far as that is known.
    CannotCreateError
        If the file cannot be opened, or the system has no such locks.
    """
    try:
        import fcntl
    except ImportError:
        raise CannotCreateError(f"{path}: cannot be locked: the system has no flock") from None
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except (OSError, ValueError) as error:
        raise CannotCreateError(f"{path}: cannot be opened: {said_of(error)}") from None
    # A solver that outlives this process for a moment must not go on holding the lock.
    os.register_at_fork(after_in_child=lambda: _close(descriptor, path))
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockHeldError(f"{path}: locked by {_holder(descriptor)}") from None
        except OSError as error:
            raise CannotCreateError(f"{path}: cannot be locked: {said_of(error)}") from None
        who = {"pid": os.getpid(), "host": socket.gethostname(), "since": rfc3339(now)}
        with contextlib.suppress(OSError):  # a full disk: who holds it is not said, no more
            _write(descriptor, f"{json.dumps(who)}\n")
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                _write(descriptor, "")
    finally:
        os.close(descriptor)


def _write(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)


def _close(descriptor: int, path: str) -> None:
    """Close it in a forked process, unless it has come to mean another file there."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            os.close(descriptor)


def _holder(descriptor: int) -> str:
    for _ in range(_LOOKS):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            who = json.loads(os.pread(descriptor, 4096, 0))
            pid, host, since = int(who["pid"]), str(who["host"]), str(who["since"])
            here = host == socket.gethostname()
            if here and not _runs(pid):
                break  # left by one that was killed: something else holds it now
            return f"pid {pid}{'' if here else f' on {host}'} since {since}"
        time.sleep(_LOOK_SECONDS)
    return "another process, which does not say who it is"


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # no process has a number that long
        return False
    except OSError:
        return True  # somebody else's
    return True
