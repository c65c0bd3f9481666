"""Words of others within Markdown, shown as they are written."""

from __future__ import annotations

_ESCAPES = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "&lt;", "*": "\\*", "[": "\\["})


def plain(text: str) -> str:
    """Return a text on one line, for a paragraph or a cell; code in backticks stays code."""
    parts = " ".join(text.split()).split("`")
    return "`".join(part if k % 2 else part.translate(_ESCAPES) for k, part in enumerate(parts))
