"""YAML text into documents, built straight from the parser's events.

Not PyYAML's own constructor: it keeps the last of duplicate keys without a word, recurses as
deeply as the document does and expands aliases without limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import yaml

from kantopt.errors import BadDataError, Problem
from kantopt.schema.hints import quote
from kantopt.schema.yaml.scalars import key_text, resolve

MAX_DEPTH = 100
MAX_ALIAS_NODES = 1_000_000
"""Nodes that aliases may add in all: far above honest use, far below what fills a memory."""

_TAG = "tag:yaml.org,2002:"
_NO_KEY = object()
_MERGE = object()
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is being read."""

    is_map: bool
    anchor: str | None
    mark: Any
    items: list[Any] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    merged: list[dict[str, Any]] = field(default_factory=list)
    key: Any = _NO_KEY
    nodes: int = 1
    depth: int = 1


class _Builder:
    """Builds documents from events; a stack instead of recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.documents: list[Any] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int, int] | None] = {}
        self._alias_nodes = 0
        self._plain: dict[str, Any] = {}

    def _problem(self, mark: Any, found: str, expected: str) -> Problem:
        where = f"line {mark.line + 1}, column {mark.column + 1}"
        return Problem(self.file, where, found, expected)

    def _stop(self, mark: Any, found: str, expected: str) -> BadDataError:
        return BadDataError([*self.problems, self._problem(mark, found, expected)])

    def take(self, event: Any) -> None:
        """Take the parser's next event."""
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()
        elif isinstance(event, yaml.DocumentStartEvent):
            self._anchors.clear()

    def _scalar(self, event: Any) -> None:
        text: str = event.value
        value: Any = text
        if event.tag not in (None, "!"):
            value = self._tagged(event)
        elif event.implicit[0]:
            frame = self._stack[-1] if self._stack else None
            if text == "<<" and frame is not None and frame.is_map and frame.key is _NO_KEY:
                frame.key = _MERGE
                return
            if text in self._plain:
                value = self._plain[text]
            else:
                value = self._plain[text] = resolve(text)
        if isinstance(value, float) and not math.isfinite(value):
            self.problems.append(self._problem(event.start_mark, text, "a finite number"))
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1, 0)
        self._add(value, event.start_mark, 1, 0)

    def _tagged(self, event: Any) -> Any:
        """Apply an explicit tag; only those that JSON has types for exist."""
        tag, text = event.tag.removeprefix(_TAG), event.value
        value = text if tag in ("str", "timestamp") else resolve(text)
        if tag == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        types = {"str": str, "timestamp": str, "int": int, "float": float, "bool": bool}
        wanted = types.get(tag, type(None))
        if event.tag == tag or (tag not in types and tag != "null"):
            found = f"the tag {quote(event.tag.replace(_TAG, '!!'))}"
            self.problems.append(self._problem(event.start_mark, found, "no tag"))
        elif not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            self.problems.append(
                self._problem(event.start_mark, quote(text), f"what its tag !!{tag} says")
            )
        return value

    def _alias(self, event: Any) -> None:
        mark, name = event.start_mark, event.anchor
        if name not in self._anchors:
            raise self._stop(mark, f"the alias *{name}", f"an anchor &{name} before it")
        anchored = self._anchors[name]
        if anchored is None:
            raise self._stop(mark, f"the alias *{name} inside what it stands for", "no recursion")
        value, nodes, depth = anchored
        self._alias_nodes += nodes
        if self._alias_nodes > MAX_ALIAS_NODES:
            raise self._stop(
                mark,
                f"aliases that expand to more than {MAX_ALIAS_NODES} values",
                f"at most {MAX_ALIAS_NODES}",
            )
        if len(self._stack) + depth > MAX_DEPTH:
            raise self._too_deep(mark)
        self._add(value, mark, nodes, depth)

    def _too_deep(self, mark: Any) -> BadDataError:
        return self._stop(
            mark, f"more than {MAX_DEPTH} levels of nesting", f"at most {MAX_DEPTH} levels"
        )

    def _open(self, event: Any) -> None:
        is_map = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", _TAG + ("map" if is_map else "seq")):
            found = f"the tag {quote(event.tag.replace(_TAG, '!!'))}"
            self.problems.append(self._problem(event.start_mark, found, "no tag"))
        if len(self._stack) >= MAX_DEPTH:
            raise self._too_deep(event.start_mark)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._stack.append(_Frame(is_map, event.anchor, event.start_mark))

    def _close(self) -> None:
        frame = self._stack.pop()
        value: Any = frame.items
        if frame.is_map:
            value = frame.own
            if frame.merged:
                value = {}
                # The first of several merged mappings wins, and an explicit key over all.
                for mapping in reversed(frame.merged):
                    value.update(mapping)
                value.update(frame.own)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (value, frame.nodes, frame.depth)
        self._add(value, frame.mark, frame.nodes, frame.depth)

    def _add(self, value: Any, mark: Any, nodes: int, depth: int) -> None:
        """Put a finished value where it belongs: a document, an entry, a key or its value."""
        if not self._stack:
            self.documents.append(value)
            return
        frame = self._stack[-1]
        frame.nodes += nodes
        frame.depth = max(frame.depth, depth + 1)
        if not frame.is_map:
            frame.items.append(value)
        elif frame.key is _NO_KEY:
            frame.key = self._key(frame, value, mark)
        elif frame.key is _MERGE:
            frame.key = _NO_KEY
            sources = value if isinstance(value, list) else [value]
            if all(isinstance(source, dict) for source in sources):
                frame.merged.extend(sources)
            else:
                self.problems.append(
                    self._problem(mark, "a merge (<<) of something else", "mappings to merge")
                )
        else:
            frame.own.setdefault(frame.key, value)
            frame.key = _NO_KEY

    def _key(self, frame: _Frame, value: Any, mark: Any) -> str:
        key = key_text(value)
        if key is None:
            found = "an empty key (null)" if value is None else "a list or mapping as a key"
            self.problems.append(self._problem(mark, found, "a string as key"))
            return ""
        if key in frame.lines:
            found = f"the key {quote(key)} again"
            first = f"it once, on line {frame.lines[key]}"
            self.problems.append(self._problem(mark, found, first))
        else:
            frame.lines[key] = mark.line + 1
        return key


def _at(text: str, mark: Any) -> str:
    """Character at a mark; its index counts bytes in libyaml, so take line and column."""
    lines = text.split("\n")
    if mark is None or mark.line >= len(lines):
        return ""
    line: str = lines[mark.line]
    return line[mark.column : mark.column + 1]


def parse_yaml(text: str, file: str) -> list[Any]:
    """Read all documents of a YAML text; an empty document is ``None``.

    Raises
    ------
    BadDataError
        With line and column of a syntax error, of every duplicate key, or of an alias that
        contains itself or expands to too much.
    """
    builder = _Builder(file)
    loader: Any = None
    try:
        loader = _LOADER(text)
        while loader.check_event():
            builder.take(loader.get_event())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        message = (error.problem or error.context or "unreadable").strip()
        hint = "YAML is indented with spaces, not tabs" if _at(text, mark) == "\t" else ""
        raise BadDataError(
            [*builder.problems, Problem(file, where, f"broken YAML: {message}", "valid YAML", hint)]
        ) from None
    except yaml.reader.ReaderError as error:
        # libyaml counts bytes and PyYAML characters, so look for the character itself.
        code = (
            f"0x{ord(error.character) if isinstance(error.character, str) else error.character:02x}"
        )
        line = text.count("\n", 0, text.find(chr(int(code, 16)))) + 1
        raise BadDataError(
            [Problem(file, f"line {line}", f"the control character {code}", "printable text")]
        ) from None
    finally:
        if loader is not None:
            loader.dispose()
    if builder.problems:
        raise BadDataError(builder.problems)
    return builder.documents
