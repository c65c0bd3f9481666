"""Natural order of names: numbers in them count by their value, so that z2 comes before z10."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"([0-9]+)")


def natural(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """Return what to sort a name by; of names that differ in leading zeros alone the name decides.

    Numbers are compared by their digits, however many these are.
    """
    parts = _NUMBER.split(name)
    digits = [part.lstrip("0") if i % 2 else part for i, part in enumerate(parts)]
    return tuple((len(d) if i % 2 else 0, d) for i, d in enumerate(digits)), name
