"""Means, medians and how they are written; rows in groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import median
from typing import TypeVar

_K = TypeVar("_K", bound=Hashable)
_R = TypeVar("_R")

SHIFT_SECONDS = 1.0
"""Shift of the geometric mean; right for runs that take about a second."""


def shifted_geometric_mean(values: Sequence[float], shift: float = SHIFT_SECONDS) -> float:
    """Return ``exp(mean(log(value + shift))) - shift``: large values count, tiny ones do not.

    Raises
    ------
    ValueError
        If there are no values.
    """
    if not values:
        raise ValueError("no values")
    return math.exp(sum(math.log(value + shift) for value in values) / len(values)) - shift


def seconds(values: Sequence[float | None]) -> str:
    """Write the median of what is known."""
    known = [value for value in values if value is not None]
    return f"{median(known):.2f}" if known else "-"


def share(part: int, whole: int) -> str:
    """Write a share with its parts: ``75.0 % (9/12)``."""
    return f"{100 * part / whole:.1f} % ({part}/{whole})" if whole else "-"


def mean(values: Sequence[int | None]) -> str:
    """Write the mean of what is known."""
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.1f}" if known else "-"


def grouped(rows: Iterable[_R], key: Callable[[_R], _K]) -> list[tuple[_K, list[_R]]]:
    """Put rows with the same key together, in the order in which keys come first."""
    groups: dict[_K, list[_R]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.items())
