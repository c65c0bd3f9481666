"""Constraint expressions over features, ``h100&(ib|roce)``, into alternatives of features.

As in Slurm ``&`` (also ``,``) and ``|`` are taken from left to right, parentheses first. Brackets
(all nodes alike) and counts (``rack1*2``) say something of a job's nodes together, which selectors
of single nodes cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_ALTERNATIVES = 64
Alternatives = tuple[tuple[str, ...], ...]
"""Sets of features, sorted: a node needs all of one set."""

_TOKEN = re.compile(r"\s*([&,|()]|[^&,|()\[\]*\s]+)", re.ASCII)


def read_constraint(text: str) -> Alternatives | None:
    """Read an expression.

    Returns
    -------
    Alternatives or None
        ``((),)`` for no expression; ``None`` for one that cannot be expressed.
    """
    if not text:
        return ((),)
    tokens = []
    place = 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        tokens.append(match[1])
        place = match.end()
    walk = iter(tokens)
    found = _expression(walk, nested=False)
    if found is None or next(walk, None) is not None or len(found) > MOST_ALTERNATIVES:
        return None
    return tuple(sorted(tuple(sorted(each)) for each in found))


def _expression(tokens: Iterator[str], *, nested: bool) -> set[frozenset[str]] | None:
    value = _operand(tokens)
    for token in tokens:
        if token == ")" and nested:
            return value
        if token not in ("&", ",", "|") or value is None:
            return None
        other = _operand(tokens)
        if other is None:
            return None
        value = value | other if token == "|" else {a | b for a in value for b in other}
        if len(value) > MOST_ALTERNATIVES:
            return None
    return None if nested else value


def _operand(tokens: Iterator[str]) -> set[frozenset[str]] | None:
    token = next(tokens, "")
    if token == "(":
        return _expression(tokens, nested=True)
    return None if not token or token in "&,|)" else {frozenset({token})}
