"""Percentiles of numbers that are all known: nearest rank."""

from __future__ import annotations

from collections.abc import Sequence


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """Return the least of the numbers, ascending, that ``percent`` percent do not exceed.

    Raises
    ------
    IndexError
        If there are none.
    """
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]
