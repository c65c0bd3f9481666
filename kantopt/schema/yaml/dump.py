"""Plain data as YAML that our reader takes for the same.

Every scalar that needs a thought is written by PyYAML; what it would write of mappings and lists
around them is laid out here: a plan for 100,000 jobs has millions of plain words, and a time limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import repeat
from typing import Any

import yaml

from kantopt.schema.yaml.scalars import resolve

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_SIMPLE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*").fullmatch
"""A word that stands without quotes where :func:`resolve` takes it for text."""
_SHORT = 120
"""A longer key has a line of its own, after a question mark: no reader looks ahead for ever."""


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Quotes around all that our reader takes for no string."""


def _string(dumper: Any, text: str) -> Any:
    # PyYAML quotes what its own resolver takes for something else; y, 0o7 and 1e3 are ours.
    style = None if resolve(text) is text else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)


class _OneLine(_Dumper):
    """Strings that a line cannot show as they are stand in double quotes."""


def _one_line(dumper: Any, text: str) -> Any:
    if text.isascii() and text.isprintable():
        return _string(dumper, text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_OneLine.add_representer(str, _one_line)


def yaml_text(data: dict[str, Any], *, ascii_only: bool = False) -> str:
    """Write plain data in block style, keys in their order, every scalar on one line.

    With ``ascii_only`` all else is escaped, so that nobody who reads the text meets a character
    that it does not show.
    """
    thought = lru_cache(maxsize=1 << 14)(partial(_scalar, ascii_only=ascii_only))

    def word(text: str) -> str:
        return text if _SIMPLE(text) and resolve(text) is text else thought(text)

    if not data:
        return "{}\n"
    lines: list[str] = []
    _write(data, "", "", lines.append, word)
    return "".join(lines)


def _scalar(value: Any, *, ascii_only: bool = True) -> str:
    """Write text, a number, a boolean, null, or an empty mapping or list."""
    one_line = ascii_only or (isinstance(value, str) and not value.isprintable())
    text: str = yaml.dump(
        [value],
        Dumper=_OneLine if one_line else _Dumper,
        default_flow_style=False,
        allow_unicode=not ascii_only,
        width=10**9,
    )
    return text[2:-1]


def _write(
    value: Any, lead: str, pad: str, out: Callable[[str], None], word: Callable[[str], str]
) -> None:
    """Write a mapping or list with something in it: its first line begins with ``lead``."""
    keys = isinstance(value, dict)
    for key, item in value.items() if keys else zip(repeat("-"), value):
        mark = f"{word(key)}:" if keys else key
        if len(mark) > _SHORT:
            mark = f"? {mark[:-1]}\n{pad}:"
        if item.__class__ is str:
            out(f"{lead}{mark} {word(item)}\n")
        elif item.__class__ is int:
            out(f"{lead}{mark} {item}\n")
        elif not item or not isinstance(item, dict | list):
            out(f"{lead}{mark} {_scalar(item)}\n")
        elif keys and len(mark) <= _SHORT:
            out(f"{lead}{mark}\n")
            below = f"{pad}  " if isinstance(item, dict) else pad
            _write(item, below, below, out, word)
        else:
            _write(item, f"{lead}{mark} ", f"{pad}  ", out, word)
        lead = pad
