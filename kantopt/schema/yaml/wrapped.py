"""Scalars of block YAML that take several lines: literal blocks, and text that was wrapped."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from operator import length_hint

from kantopt.schema.yaml.line import (
    Form,
    Line,
    UnknownLineError,
    cut,
    is_plain,
    is_printable,
    to_closing,
    unescape,
)


class Lines:
    """The lines of a document on their way to the reader, who iterates over ``rest``.

    When the line at hand turns out to be part of a longer scalar, the lines that belong to it are
    taken from ``rest``. All methods raise :class:`UnknownLineError` where it is not surely one.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._after_scalar = -1
        self.rest = iter(lines)

    def scalar(self, head: Line) -> str:
        """Read the scalar whose head, the line at hand, says that it goes on."""
        return self._block(head) if head.form is Form.BLOCK else self._quoted(head)

    def unquoted(self) -> tuple[str | None, str]:
        """Read the unquoted scalar of which the line at hand is the second; with its key, if any.

        What has several words is no number or the like, so the text is the value.
        """
        second = self._next() - 1
        if second == self._after_scalar:
            raise UnknownLineError
        head = cut(self._lines[second - 1])
        if head.form is not Form.VALUE or head.rest[0] in "'\"":
            raise UnknownLineError
        parts = [head.rest]
        for part in self._deeper(head.column, second):
            if not is_plain(part):
                raise UnknownLineError
            parts.append(part)
        if len(parts) == 1:
            raise UnknownLineError
        self._go_to(second + len(parts) - 1)
        return head.key, " ".join(parts)

    def _quoted(self, head: Line) -> str:
        first, quote, parts = self._next(), head.rest[0], [head.value]
        for part in self._deeper(head.column, first):
            text, ended = to_closing(part, quote)
            parts.append(text)
            if ended:
                self._go_to(first + len(parts) - 1)
                return unescape(" ".join(parts), quote)
            if part.endswith(" "):
                break
        raise UnknownLineError

    def _block(self, head: Line) -> str:
        first, parts = self._next(), list[str]()
        # The head may say by how much the text is indented; else its first line shows it.
        given = head.rest.strip("|+-")
        margin = " " * (head.column + int(given)) if given else self._margin(first)
        if len(margin) <= head.column:
            raise UnknownLineError
        for line in self._from(first):
            if line and not line.startswith(margin):
                break
            if line.isspace() or not is_printable(line):
                raise UnknownLineError
            parts.append(line[len(margin) :])
        self._go_to(first + len(parts))
        text = "\n".join(parts)
        bare = text.rstrip("\n")
        if not bare:
            raise UnknownLineError
        if head.rest[-1] == "+":
            return text + "\n"
        return bare if head.rest[-1] == "-" else bare + "\n"

    def _margin(self, index: int) -> str:
        line = self._lines[index] if index < len(self._lines) else ""
        return line[: len(line) - len(line.lstrip(" "))]

    def _deeper(self, column: int, start: int) -> Iterator[str]:
        """Lines from one on that stand deeper than a column, without what they are indented by."""
        for line in self._from(start):
            part = line.lstrip(" ")
            if not part or not is_printable(part):
                raise UnknownLineError
            if len(line) - len(part) <= column:
                return
            yield part

    def _from(self, start: int) -> Iterator[str]:
        return map(self._lines.__getitem__, range(start, len(self._lines)))

    def _next(self) -> int:
        """Index of the line after the one at hand."""
        return len(self._lines) - length_hint(self.rest)

    def _go_to(self, end: int) -> None:
        deque(islice(self.rest, end - self._next()), maxlen=0)
        self._after_scalar = end
