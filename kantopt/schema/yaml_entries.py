"""Lines of block YAML as instructions to the reader, each text of a line read once."""

from __future__ import annotations

from typing import Any

from kantopt.schema.yaml_line import Form, UnknownLineError, content, cut

Entry = tuple[int, str, Any, int]
"""What a line does: a place (see ``Line.place``), a key, a value and a verb."""

PUT, OPEN, APPEND_MAP, APPEND_OPEN, APPEND, SPECIAL, UNKNOWN = range(7)
"""Verbs, the most frequent first: put the value under the key, or what is deeper; append a mapping
that begins with the key, and with the value or with what is deeper; append the value; see the
``Line`` that is the value; leave the text to another parser."""


class LineTable(dict[str, Entry]):
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
