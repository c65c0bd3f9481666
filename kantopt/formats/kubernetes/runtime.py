"""How long pods are left in peace after their start, and when they last saved their work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction

from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.notes import Notes
from kantopt.formats.view import View

_COOLDOWN = ("kantopt/min-runtime", "volcano.sh/cooldown-time")
_CHECKPOINT = "kantopt/last-checkpoint-time"
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|us|µs|ns|s)")
_SECONDS = {
    "h": Fraction(3_600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}


def min_runtime(pods: Sequence[Pod], notes: Notes) -> str | None:
    """Return the time for which the pods of a job are not evicted: the longest that one asks for.

    Volcano's cooldown protection reads labels before annotations.
    """
    found = []
    for pod in pods:
        text = _first(pod.labels) or _first(pod.annotations)
        seconds = duration_seconds(text)
        if text and seconds is None:
            notes.add("cooldown times that are no durations are left out", pod.full_name)
        elif seconds:
            found.append(seconds)
    return f"{max(found)}s" if found else None


def queue_runtime(spec: View, key: str) -> int | None:
    """Read a queue's seconds for which the pods of its jobs are not evicted, as KAI writes them."""
    text = spec.text(key)
    seconds = duration_seconds(text)
    if text and seconds is None:
        spec.problem(key, "a duration such as 10m or 1h30m")
    return seconds


def last_checkpoint(pods: Sequence[Pod], notes: Notes) -> str | None:
    """Return when a job saved its work, as its pods are annotated: the latest of these times."""
    found = []
    for pod in pods:
        text = pod.annotations.get(_CHECKPOINT, "")
        try:
            if text and datetime.fromisoformat(text).tzinfo is not None:
                found.append(text)
                continue
        except ValueError:
            pass
        if text:
            notes.add("checkpoint times that are no times are left out", pod.full_name)
    return max(found, key=datetime.fromisoformat) if found else None


def _first(words: Mapping[str, str]) -> str:
    return next((words[key] for key in _COOLDOWN if words.get(key)), "")


def duration_seconds(text: str) -> int | None:
    """Read a duration as Go writes it, in whole seconds, rounded up; ``None`` for other text."""
    if not text or _PART.sub("", text):
        return None
    exact = sum(Fraction(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    return min(-(-exact.numerator // exact.denominator), 10**9 - 1)
