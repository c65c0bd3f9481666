"""Answers to stdout or a file, everything else to stderr."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Literal

from kantopt.cli.spoken import spoken
from kantopt.clock import elapsed, rfc3339, utc_now
from kantopt.errors import CannotCreateError, KantoptError, StdoutError, UsageError, said_of

if TYPE_CHECKING:
    from kantopt.schema.base import Part

LogForm = Literal["text", "json"]
"""Form of all that goes to stderr."""

STDOUT = ("-", "/dev/stdout")
"""Names of standard output; a file that it goes to must not be replaced under its feet."""

_NOTHING: Mapping[str, object] = MappingProxyType({})


def emit(text: str, path: str | None = None) -> None:
    """Write an answer to a file, or to standard output (``None`` or ``-``).

    Raises
    ------
    BrokenPipeError
        If nobody reads standard output any more.
    CannotCreateError, WriteError
        If the file cannot be written.
    StdoutError
        If standard output cannot.
    """
    data = text.encode("utf-8", "backslashreplace")
    if path is not None and path not in STDOUT:
        from kantopt.schema.writing import write_atomic

        write_atomic(path, data)
        return
    if sys.stdout is None:
        raise StdoutError("standard output: writing failed: it is closed")
    try:
        sys.stdout.flush()
        _write(sys.stdout, data, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutError(f"standard output: writing failed: {said_of(error)}") from None


def _write(stream: IO[str], data: bytes, text: str) -> None:
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
    else:
        rest = memoryview(data)
        while rest:  # without a buffer (PYTHONUNBUFFERED) a write may take only a part
            taken = buffer.write(rest)
            if taken is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            rest = rest[taken:]
        buffer.flush()
    stream.flush()


def complain(kind: str, messages: Iterable[str], form: LogForm = "text") -> None:
    """Say something on stderr, one line a message; a stderr that is gone stops nothing.

    It is put into the words of the cluster that was read. In the form ``json`` each line is an
    object, in our words: ``time``, ``t`` (seconds since the process began), ``event`` (the kind)
    and ``message``.
    """
    if form == "json":
        for message in messages:
            tell_news(kind, {"message": message})
        return
    if sys.stderr is None:
        return
    try:
        from kantopt.report.blocks import escaped
    except OSError:  # no file can be opened any more

        def escaped(text: str) -> str:
            return ascii(text)[1:-1]  # built in: a codec would be loaded from a file too

    with contextlib.suppress(OSError, ValueError):
        for message in messages:
            for line in spoken(message).splitlines() or [""]:
                print(f"kantopt: {kind}: {escaped(line)}", file=sys.stderr)
        sys.stderr.flush()


def log_form_of(arguments: Sequence[str]) -> LogForm:
    """Form of the log that was asked for; found here too, since reading the options may fail."""
    wanted = ("--log-format", "json") in itertools.pairwise(arguments)
    return "json" if wanted or "--log-format=json" in arguments else "text"


def tell_news(event: str, facts: Mapping[str, object] = _NOTHING, at: float | None = None) -> None:
    """Write a line of the structured log to stderr; ``at``: when, in seconds of the process."""
    if sys.stderr is None:
        return
    seconds = elapsed() if at is None else at
    news = {"t": round(seconds, 3), "event": event, **facts}
    with contextlib.suppress(KantoptError):  # a faked clock that cannot be read is said elsewhere
        news = {"time": rfc3339(utc_now()), **news}
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        sys.stderr.write(f"{json.dumps(news)}\n")
        sys.stderr.flush()


def check_output_file(path: str | None, inputs: Iterable[str | None] = ()) -> None:
    """Fail early if an output cannot be created, before the work and not after it.

    Parameters
    ----------
    path
        Where it is to go.
    inputs
        Files that the run reads: an answer in the place of its question would be the end of that.

    Raises
    ------
    CannotCreateError
        If the folder is missing or may not be written to, or the path is a directory.
    UsageError
        If the run reads that file.
    """
    if path is None or path in STDOUT:
        return
    for name in inputs:
        if name is not None and _is_same(path, name):
            raise UsageError(f"{path}: found an input of this run, expected another file to write")
    # What is no file, such as a pipe, may have no path of its own to resolve.
    target = path if _is_special(path) else os.path.realpath(path)
    folder = os.path.dirname(target)
    reason = ""
    if not path or os.path.isdir(target):
        reason = "it is a directory" if path else "it has no name"
    elif path.endswith("/"):
        reason = "no such folder"
    elif os.path.exists(target):
        reason = "" if os.access(target, os.W_OK) else "permission denied"
    elif not os.path.isdir(folder):
        reason = "no such folder"
    elif not os.access(folder, os.W_OK):
        reason = "permission denied"
    if reason:
        raise CannotCreateError(f"{path or chr(34) * 2}: cannot be written: {reason}")


def check_distinct(outputs: Iterable[str | None]) -> None:
    """Check that no output of a run takes the place of another.

    Raises
    ------
    UsageError
        If two of them lead to one file; pipes and devices may take several.
    """
    seen: set[str] = set()
    for path in outputs:
        if path is None or path in STDOUT or _is_special(path):
            continue
        target = os.path.realpath(path)
        if target in seen:
            raise UsageError(f"{path}: found two outputs of this run, expected a file for each")
        seen.add(target)


def _is_same(path: str, name: str) -> bool:
    """Whether two paths lead to one file; devices and pipes may be both read and written."""
    try:
        return os.path.samefile(path, name) and not _is_special(path)
    except (OSError, ValueError):
        return False


def _is_special(path: str) -> bool:
    """Whether a path names a device or pipe, perhaps one of this process: /dev/fd/63."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def format_of(chosen: str | None, path: str | None, default: str) -> str:
    """Format to write: the one chosen, else what the file's name says, else the default."""
    if chosen is not None:
        return chosen
    name = (path or "").lower()
    if name.endswith(".json"):
        return "json"
    return "yaml" if name.endswith((".yaml", ".yml")) else default


def all_dumped(documents: Iterable[Part], form: str) -> str:
    """Write documents one after the other as JSON or YAML."""
    return ("---\n" if form == "yaml" else "").join(dumped(each, form) for each in documents)


def dumped(document: Part, form: str) -> str:
    """Write a document as JSON or YAML."""
    from kantopt.schema.dump import dump_json, dump_yaml

    return dump_json(document) if form == "json" else dump_yaml(document)
