"""Block YAML line by line: the fast way for what ``kubectl`` writes, and for nothing else.

A dump of pods repeats most of its lines thousands of times. What a line says is in the line; only
what it belongs to depends on the lines before it. So each text of a line is read once, and for
every line all that is left to do is to put its entry in its place.
"""

from __future__ import annotations

from typing import Any

from kantopt.schema.yaml_entries import (
    APPEND,
    APPEND_OPEN,
    OPEN,
    SPECIAL,
    LineTable,
)
from kantopt.schema.yaml_line import Form, Line, UnknownLineError
from kantopt.schema.yaml_wrapped import Lines

_MARK = "---\n"
_MAX_DEPTH = 80
"""One line may begin ten levels more; all YAML is read to a hundred, and its reader says so."""


def read_block_yaml(text: str) -> list[Any] | None:
    """Read all documents of a YAML text; ``None`` if it takes more than this.

    What it returns is what :func:`kantopt.schema.yaml_text.parse_yaml` returns, which is to be
    asked about everything else: other forms, errors, and what might be one.
    """
    text = text.removeprefix(_MARK)
    if not text.endswith("\n"):
        return None
    table = LineTable()
    try:
        return [_document(part.split("\n"), table) for part in text[:-1].split("\n" + _MARK)]
    except UnknownLineError:
        return None


def _document(texts: list[str], table: LineTable) -> Any:
    lines = Lines(texts)
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


def _value(line: Line, lines: Lines) -> Any:
    if line.form is Form.MAP:
        return {}
    if line.form is Form.LIST:
        return []
    return lines.scalar(line) if line.form in (Form.BLOCK, Form.QUOTED) else line.value
