"""Block YAML line by line: the fast way for what ``kubectl`` writes, and for nothing else.

A dump of pods repeats most of its lines thousands of times. What a line says is in the line; only
what it belongs to depends on the lines before it. So each text of a line is read once, and for
every line all that is left to do is to put its entry in its place. A dump of 5,000 pods, 27 MB,
takes half a second this way, 3.2 s by the parser's events and 16 s as most programs read YAML
(``python scripts/measure_reading.py``); of a time limit of 10 s the rest is left to plan in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from operator import length_hint
from typing import Any

from kantopt.schema.yaml.line import (
    Form,
    Line,
    UnknownLineError,
    content,
    cut,
    is_plain,
    is_printable,
    to_closing,
    unescape,
)

Entry = tuple[int, str, Any, int]
"""What a line does: a place (see ``Line.place``), a key, a value and a verb."""

PUT, OPEN, APPEND_MAP, APPEND_OPEN, APPEND, SPECIAL, UNKNOWN = range(7)
"""Verbs, the most frequent first: put the value under the key, or what is deeper; append a mapping
that begins with the key, and with the value or with what is deeper; append the value; see the
``Line`` that is the value; leave the text to another parser."""

_MARK = "---\n"
_MAX_DEPTH = 80
"""One line may begin ten levels more; all YAML is read to a hundred, and its reader says so."""


def read_block_yaml(text: str) -> list[Any] | None:
    """Read all documents of a YAML text; ``None`` if it takes more than this.

    What it returns is what :func:`kantopt.schema.yaml.text.parse_yaml` returns, which is to be
    asked about everything else: other forms, errors, and what might be one.
    """
    text = text.removeprefix(_MARK)
    if not text.endswith("\n"):
        return None
    table = _LineTable()
    try:
        return [_document(part.split("\n"), table) for part in text[:-1].split("\n" + _MARK)]
    except UnknownLineError:
        return None


def _document(texts: list[str], table: _LineTable) -> Any:
    lines = _Lines(texts)
    root: dict[str, Any] = {}
    # The innermost list or mapping, its place, and the key whose value the next lines may hold.
    inner: Any = root
    here = -1
    opened: str | None = ""
    outer: list[tuple[int, Any]] = []
    for place, key, value, verb in map(table.__getitem__, lines.rest):
        if place < here:
            while place < here:
                here, inner = outer.pop()
            if place != here:
                raise UnknownLineError
        elif place > here:
            if opened is None:
                name, text = lines.unquoted()
                inner[-1 if name is None else name] = text
                continue
            if len(outer) > _MAX_DEPTH:
                raise UnknownLineError
            outer.append((here, inner))
            below: Any = [] if place & 1 else {}
            inner[opened] = below
            here = place
            inner = below
        opened = None
        if verb <= OPEN:
            if key in inner:
                raise UnknownLineError
            inner[key] = value
            if verb == OPEN:
                opened = key
        elif verb <= APPEND_OPEN:
            outer.append((here, inner))
            # Behind the dash and the space, and no list.
            here, below = place + 3, {key: value}
            inner.append(below)
            inner = below
            if verb == APPEND_OPEN:
                opened = key
        elif verb == APPEND:
            inner.append(value)
        elif verb == SPECIAL:
            line: Line = value
            for deeper in line.inner_places:
                outer.append((here, inner))
                here, below = deeper, [] if deeper & 1 else {}
                inner.append(below)
                inner = below
            value = _value(line, lines)
            if line.key is None:
                inner.append(value)
            elif line.key in inner:
                raise UnknownLineError
            else:
                inner[line.key] = value
                opened = line.key if line.form is Form.OPEN else None
        else:
            raise UnknownLineError
    return root[""]


def _value(line: Line, lines: _Lines) -> Any:
    if line.form is Form.MAP:
        return {}
    if line.form is Form.LIST:
        return []
    return lines.scalar(line) if line.form in (Form.BLOCK, Form.QUOTED) else line.value


class _LineTable(dict[str, Entry]):
    """Entries by the text of their line: a cluster repeats the same lines thousands of times."""

    def __init__(self) -> None:
        super().__init__()
        self._heads: dict[str, Entry] = {}

    def __missing__(self, text: str) -> Entry:
        # The lines that differ mostly differ behind the key.
        head, colon, rest = text.partition(": ")
        start = self._heads.get(head) if colon else None
        if start is not None:
            try:
                form, value = content(rest)
            except UnknownLineError:
                form = Form.OPEN
            if form is Form.VALUE:
                entry = self[text] = (start[0], start[1], value, start[3])
                return entry
        entry = self[text] = _entry(text)
        if colon and entry[3] in (PUT, APPEND_MAP):
            self._heads[head] = entry
        return entry


def _entry(text: str) -> Entry:
    try:
        line = cut(text)
    except UnknownLineError:
        words = text.lstrip(" ")
        # An empty line is no part of anything and so outside of everything.
        place = 2 * (len(text) - len(words)) + words.startswith("- ") if words else -1
        return (place, "", None, UNKNOWN)
    if line.form not in (Form.VALUE, Form.OPEN) or line.dashes > 1:
        return (line.place, "", line, SPECIAL)
    if line.key is None:
        return (line.place, "", line.value, APPEND)
    if line.form is Form.OPEN:
        return (line.place, line.key, None, APPEND_OPEN if line.dashes else OPEN)
    return (line.place, line.key, line.value, APPEND_MAP if line.dashes else PUT)


class _Lines:
    """The lines of a document on their way to the reader, who iterates over ``rest``.

    When the line at hand turns out to be part of a longer scalar, a literal block or text that was
    wrapped, the lines that belong to it are taken from ``rest``. All methods raise
    :class:`UnknownLineError` where it is not surely one.
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
