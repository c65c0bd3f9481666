"""Text of a plan in a shell script: words that mean what they say, comments that stay comments.

Names come from documents, and a document may hold anything. Nothing that passes through here can
become a command, neither of the shell that runs a script nor of the terminal that shows it.
"""

from __future__ import annotations

import itertools
import shlex
from datetime import datetime

from kantopt.errors import BadDataError, Problem
from kantopt.schema.hints import quote


def word(text: str) -> str:
    """Quote text as one word of a POSIX shell.

    Characters that a terminal may obey are written as octal numbers, which ``printf`` turns back.

    Raises
    ------
    BadDataError
        If the text holds NUL: shells drop it, and the word would be the name of something else.
    """
    if "\0" in text:
        expected = "a name without NUL, which no argument of a command can hold"
        raise BadDataError([Problem("the plan", "", quote(text), expected)])
    if not text:
        return "''"
    parts = itertools.groupby(text, lambda char: char == "\n" or char.isprintable())
    return "".join(
        shlex.quote(part) if shown else f"\"$(printf '{_octal(part)}')\""
        for shown, part in ((shown, "".join(chars)) for shown, chars in parts)
    )


def one_line(text: str) -> str:
    """Return text as one line that a terminal only shows: for comments and messages."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def comment(text: str) -> str:
    """Write text as a comment of one line, whatever it holds."""
    return f"# {one_line(text)}".rstrip()


def seconds_of(moment: str | None) -> int | None:
    """Return a moment in seconds since 1970; ``None`` if it is not told in a way we know."""
    try:
        return int(datetime.fromisoformat(moment or "").timestamp())
    except (ValueError, OverflowError):
        return None


def _octal(text: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "surrogatepass"))
