"""Durations as Kubernetes writes them, read exactly: whole seconds; and time limits."""

from __future__ import annotations

import re

_PART = re.compile(r"(\d{1,9})([dhms])")
_LIMIT_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
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


def duration_text(seconds: int) -> str:
    """Write a duration of any length that :func:`duration_seconds` reads."""
    days, rest = divmod(seconds, _SECONDS["d"])
    return f"{days}d{rest}s" if days else f"{rest}s"


def limit_seconds(text: str, most: int = 10**7) -> float:
    """Read a time limit: ``10s``, ``500ms``, ``2m``, ``1m30s``, ``2d`` or plain seconds.

    Raises
    ------
    ValueError
        If it is none, none above zero, or of more than so many seconds.
    """
    text = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        seconds = float(text)
    elif text and not _LIMIT_PART.sub("", text):
        parts = _LIMIT_PART.findall(text)
        seconds = sum(
            float(number) * ({"ms": 0.001}.get(unit) or _SECONDS[unit]) for number, unit in parts
        )
    else:
        raise ValueError(f"found {text!r}, expected a duration such as 10s, 500ms or 2m")
    return checked_limit(seconds, text, most)


def checked_limit(seconds: float, shown: object, most: int = 10**7) -> float:
    """Return a time limit that can be kept.

    Raises
    ------
    ValueError
        If it is not above zero, or out of reach.
    """
    if not 0 < seconds <= most:
        expected = f"more than 0 seconds and less than {most // 86_400}d"
        raise ValueError(f"found {shown!r}, expected {expected}")
    return seconds
