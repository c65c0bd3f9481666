"""Means over replicates with confidence intervals: one simulation per trace, traces independent.

Student's t with n - 1 degrees of freedom (Law, "Simulation Modeling and Analysis", section 4.5:
replications; section 10.2: two systems on common random numbers, paired).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""t(0.975) for 1, 2, ... degrees of freedom (NIST/SEMATECH e-Handbook, 1.3.6.7.2)."""
_FURTHER = ((120, 1.980), (60, 2.000), (40, 2.021), (30, 2.042))
"""And for many: the next smaller number of the table, so that intervals are rather too wide."""


class Interval(NamedTuple):
    """A mean, and half of its 95% confidence interval if there are two values at least."""

    mean: float
    half_width: float | None


def t_quantile(degrees: int) -> float:
    """Return t(0.975), or slightly more, for at least 1 degree of freedom."""
    if degrees <= len(_QUANTILES):
        return _QUANTILES[degrees - 1]
    return next(quantile for least, quantile in _FURTHER if degrees >= least)


def interval(values: Sequence[float]) -> Interval | None:
    """Return mean and interval of independent values; ``None`` of nothing."""
    n = len(values)
    if n < 2:
        return Interval(float(values[0]), None) if values else None
    return Interval(fmean(values), t_quantile(n - 1) * stdev(values) / n**0.5)
