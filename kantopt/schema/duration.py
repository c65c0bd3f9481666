"""Durations as Kubernetes writes them, read exactly: whole seconds."""

from __future__ import annotations

import re

_PART = re.compile(r"(\d{1,9})([dhms])")
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def duration_seconds(text: str) -> int:
    """Read ``90s``, ``30m``, ``1h30m``, ``2d``; returns seconds.

    Raises
    ------
    ValueError
        If it is no duration.
    """
    if not text or _PART.sub("", text):
        raise ValueError("not a duration")
    return sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
