"""One number that was measured of one simulation, and percentiles of numbers: nearest rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """A metric by its name in :mod:`kantopt.simulate.metrics.catalogue`, which has the unit."""

    metric: str
    value: int | float
    scope: str = ""
    """Size class or owner that it is for; empty: the whole cluster."""
    at_least: bool = False
    """Whether the true value may be larger: jobs were still waiting at the end."""


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """Return the least of the numbers, ascending, that ``percent`` percent do not exceed.

    Raises
    ------
    IndexError
        If there are none.
    """
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]
