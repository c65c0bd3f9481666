"""One number that was measured of one simulation."""

from __future__ import annotations

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
