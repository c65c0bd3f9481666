"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, one: str) -> str:
    """Write ``1 pod``, ``2 pods``."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


_NAMED = 6
"""Names in one sentence, at most: a document has them all in its plan."""


def listed(names: list[str]) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``, or the first ones and how many more."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
