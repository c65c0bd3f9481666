"""When jobs come: a Poisson process, at an even rate or at one that follows the day.

Given how many come in a span, the arrivals of a Poisson process are that many independent draws
from its rate (Ross, *Stochastic Processes*, 2.3). The uneven rate is met by thinning (Lewis and
Shedler, Naval Research Logistics Quarterly 26, 1979).
"""

from __future__ import annotations

import random
from math import cos, pi
from typing import Literal

Arrivals = Literal["poisson", "diurnal"]

DAY = 86_400
PEAK = 14 * 3600
"""Second of the day at which most jobs come; a trace begins at midnight."""
SWING = 0.6
"""How far the rate of the day goes above and below its mean; ours."""


def draw_arrivals(count: int, span: int, kind: Arrivals, rng: random.Random) -> list[int]:
    """Draw when so many jobs come.

    Parameters
    ----------
    count
        Number of jobs.
    span
        Seconds from the start of the trace in which they come, at least one.
    kind
        ``poisson``: at an even rate; ``diurnal``: at a rate that follows a cosine over the day,
        1.6 of the mean at two in the afternoon and 0.4 of it at two in the night.
    rng
        Source of random numbers.

    Returns
    -------
    list of int
        Whole seconds, ascending.
    """
    found: list[int] = []
    while len(found) < count:
        at = rng.random() * span
        if kind == "diurnal":
            rate = 1 + SWING * cos(2 * pi * (at - PEAK) / DAY)
            if rng.random() * (1 + SWING) > rate:
                continue
        found.append(int(at))
    return sorted(found)
