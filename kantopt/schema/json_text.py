"""JSON text into documents: duplicate keys and numbers that are none are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kantopt.errors import BadDataError, Problem
from kantopt.schema.hints import path_text, quote

_SPACE = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r'"[^"\n]*"|[\w.+-]+|.', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


_EXPECTED = (
    ("Expecting value", "a value"),
    ("Expecting property name", "a key in double quotes"),
    ("Expecting ':'", "a colon after the key"),
    ("Expecting ','", "a comma or a closing bracket"),
)
"""What is missing, by how Python begins to say so."""


class _Twice(dict[str, Any]):
    """A mapping in which a key was given twice; the reader marks it and names its place later.

    The standard decoder tells its hook neither place nor position, and a decoder in Python that
    could would be many times slower on every good file.
    """

    keys_given_twice: tuple[str, ...] = ()


class _NotFinite(float):
    """NaN or Infinity, which JSON does not have."""


def parse_json(text: str, file: str) -> list[Any]:
    """Read one JSON value, or several one after another.

    Raises
    ------
    BadDataError
        With line and column of a syntax error, or the path of every duplicate key, number that
        is not finite and broken character.
    """
    marked = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal marked
        mapping = dict(items)
        if len(mapping) != len(items):
            marked = True
            twice = _Twice(mapping)
            keys = [key for key, _ in items]
            twice.keys_given_twice = tuple(sorted({key for key in keys if keys.count(key) > 1}))
            return twice
        return mapping

    def constant(name: str) -> float:
        nonlocal marked
        marked = True
        return _NotFinite(name)

    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant)
    values = []
    position = _SPACE.match(text, 0).end()  # type: ignore[union-attr]
    try:
        while position < len(text):
            value, position = decoder.raw_decode(text, position)
            values.append(value)
            position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
    except json.JSONDecodeError as error:
        raise BadDataError([_syntax(text, file, error)]) from None
    except RecursionError:
        deep = Problem(file, "", "JSON nested too deeply", "at most 100 levels")
        raise BadDataError([deep]) from None
    except ValueError:
        # The only other ValueError: Python caps the digits of an integer.
        long = Problem(file, "", "a number of thousands of digits", "numbers below 2^63")
        raise BadDataError([long]) from None
    if marked or "\\ud" in text or "\\uD" in text:
        problems = [
            problem
            for index, value in enumerate(values, 1)
            for problem in _blemishes(value, f"{file}#{index}" if len(values) > 1 else file)
        ]
        if problems:
            raise BadDataError(problems)
    return values


def _syntax(text: str, file: str, error: json.JSONDecodeError) -> Problem:
    """Say in our own words what stands where, since Python's differ from version to version."""
    position, message = error.pos, error.msg
    before = text[:position].rstrip(" \t\r\n")
    comma = message.startswith("Illegal trailing comma")
    if not comma and text[position : position + 1] in ("}", "]") and before.endswith(","):
        comma, position = True, len(before) - 1
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    where = f"line {line}, column {column}"
    token = _TOKEN.match(text, position)
    found = quote(token[0].strip('"')) if token else "the end of the file"
    if comma:
        found, expected = "a comma after the last entry", "no comma there"
    elif words := next((words for start, words in _EXPECTED if message.startswith(start)), ""):
        expected = words
    elif message.startswith("Unterminated string"):
        found, expected = "a string that does not end", "a closing double quote"
    elif message.startswith("Invalid control character"):
        found, expected = "a control character in a string", "an escape such as \\t"
        if text[position] == "\n":
            found, expected = "a string that does not end on its line", "a closing double quote"
    else:
        found, expected = f"broken JSON ({message.rstrip(' at')})", "valid JSON"
    hint = "a file that starts with { or [ is read as JSON"
    return Problem(file, where, found, expected, hint if found.startswith('"') else "")


def _blemishes(value: Any, file: str) -> Iterator[Problem]:
    """Walk a document and report what the decoder could only mark; no recursion, any depth."""
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        path, item = pending.pop()
        children: list[tuple[str | int, Any]] = []
        if isinstance(item, _Twice):
            for key in item.keys_given_twice:
                yield Problem(
                    file, path_text(path), f"the key {quote(key)} twice", "each key at most once"
                )
        if isinstance(item, dict):
            children = list(item.items())
            if any(_SURROGATE.search(key) for key in item):
                yield Problem(
                    file, path_text(path), "a key with half a surrogate pair", "valid Unicode"
                )
        elif isinstance(item, list):
            children = list(enumerate(item))
        elif isinstance(item, _NotFinite):
            found = {"nan": "NaN", "inf": "Infinity"}.get(str(float(item)), "-Infinity")
            yield Problem(file, path_text(path), found, "a finite number")
        elif isinstance(item, str) and _SURROGATE.search(item):
            yield Problem(
                file, path_text(path), "a string with half a surrogate pair", "valid Unicode"
            )
        pending.extend(((*path, step), child) for step, child in reversed(children))
