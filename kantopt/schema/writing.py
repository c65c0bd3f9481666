"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
import time

from kantopt.errors import CannotCreateError, MissingInputError, WriteError, said_of
from kantopt.schema.inputs import LOOK_SECONDS, look

_PREFIX = ".kantopt-"
_OLD_SECONDS = 3600
_PATIENCE_SECONDS = 1.0
"""How long a reader may take in any case: what is written comes when the time is nearly over."""
_FAILED_DISK = {errno.ENOSPC, errno.EIO, errno.EDQUOT}


def make_folder(path: str) -> None:
    """Make a folder, and those it is in, unless it is there.

    Raises
    ------
    CannotCreateError
        If it cannot be made.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise CannotCreateError(f"{path}: cannot be made: {said_of(error)}") from None


def write_atomic(path: str, data: bytes) -> None:
    """Write a file by rename, so that no reader ever sees a part of it.

    The permission bits of an existing file stay; a new one gets 0644 less the umask. A symbolic
    link stays one: the file that it names is replaced. A device or pipe is written to directly.

    Raises
    ------
    CannotCreateError
        If the folder is missing, permission is denied or the path is a directory.
    WriteError
        If the disk is full or fails; the old file is then untouched and no other is left.
    """
    try:
        target = os.path.realpath(path)
        mode = _mode(path)
        if mode is None:
            _write_through(path, data)
            return
        descriptor, temporary = tempfile.mkstemp(prefix=_PREFIX, dir=os.path.dirname(target))
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in _FAILED_DISK:
            raise WriteError(f"{path}: writing failed: {said_of(error)}") from None
        raise CannotCreateError(f"{path}: cannot be written: {said_of(error)}") from None
    try:
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
        except OSError as error:
            raise WriteError(f"{path}: writing failed: {said_of(error)}") from None
        try:
            os.replace(temporary, target)
        except OSError as error:
            raise CannotCreateError(f"{path}: cannot be written: {said_of(error)}") from None
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _write_through(path: str, data: bytes) -> None:
    """Write to a device or pipe, hearing of time and signals while nobody reads."""
    left, patience = memoryview(data), _PATIENCE_SECONDS

    def wait() -> None:
        nonlocal patience
        if patience <= 0:
            try:
                look(path)
            except MissingInputError:
                raise WriteError(f"{path}: writing failed: nobody reads it") from None
        time.sleep(LOOK_SECONDS)
        patience -= LOOK_SECONDS

    # Not by its target: a pipe of this process (/dev/fd/63) is a link to no path.
    while (descriptor := _opened(path)) is None:
        wait()
    try:
        while left:
            try:
                left = left[os.write(descriptor, left) :]
                patience = _PATIENCE_SECONDS
            except BlockingIOError:
                wait()
    except OSError as error:
        raise WriteError(f"{path}: writing failed: {said_of(error)}") from None
    finally:
        os.close(descriptor)


def _opened(path: str) -> int | None:
    """Open a device or pipe; ``None`` as long as nobody reads from the pipe."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO and stat.S_ISFIFO(os.stat(path).st_mode):
            return None
        raise


def sweep(path: str) -> None:
    """Remove what runs that were killed while they wrote have left beside a file.

    Only what is an hour older than the file: nobody takes so long to write.
    """
    with contextlib.suppress(OSError):
        target = os.path.realpath(path)
        written = os.stat(target).st_mtime
        with os.scandir(os.path.dirname(target)) as entries:
            for entry in entries:
                if not (entry.name.startswith(_PREFIX) and entry.is_file(follow_symlinks=False)):
                    continue
                if entry.stat(follow_symlinks=False).st_mtime < written - _OLD_SECONDS:
                    os.unlink(entry.path)


def _mode(path: str) -> int | None:
    """Permission bits for the file to come; ``None`` if it is a device or pipe."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o644 & ~umask
    if stat.S_ISDIR(status.st_mode):
        raise CannotCreateError(f"{path}: cannot be written: it is a directory")
    if not stat.S_ISREG(status.st_mode):
        return None
    if not os.access(path, os.W_OK):
        raise CannotCreateError(f"{path}: cannot be written: permission denied")
    return stat.S_IMODE(status.st_mode)
