"""Kaplan-Meier estimator: how long things last of which some were seen for too short a time.

Product limit (Kaplan and Meier, "Nonparametric estimation from incomplete observations", 1958;
Klein and Moeschberger, "Survival Analysis", 2nd edition, sections 4.2, 4.5): S(t) is the product
over the times t_i <= t at which something ended of 1 - d_i / n_i, where d_i ended at t_i and n_i
had lasted so long. One that was last seen at t (censored) counts among those that had lasted
until t.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum


@dataclass(frozen=True, slots=True)
class Survival:
    """Share that lasts longer, over time."""

    times: tuple[int, ...]
    """At which something ended, ascending."""
    shares: tuple[float, ...]
    """That last longer than each: the exact rational number, rounded once."""
    count: int
    censored: int
    longest: int
    """Observation, ended or not."""

    def after(self, time: int) -> float:
        """Share that lasts longer than ``time``."""
        k = bisect_right(self.times, time)
        return self.shares[k - 1] if k else 1.0

    def quantile(self, percent: int) -> int | None:
        """Least time after which at most ``100 - percent`` percent last; ``None``: not reached.

        Without censored observations this is the nearest rank.
        """
        for time, share in zip(self.times, self.shares, strict=True):
            if share <= (100 - percent) / 100:
                return time
        return None

    @property
    def mean(self) -> float:
        """Area under the curve up to the longest observation.

        The mean if that one ended; else at most the mean (restricted mean).
        """
        bounds = (0, *self.times, self.longest)
        shares = (1.0, *self.shares)
        return fsum(share * (bounds[i + 1] - bounds[i]) for i, share in enumerate(shares))

    @property
    def complete(self) -> bool:
        """Whether the curve reaches 0, so that the area is the mean."""
        return bool(self.shares) and self.shares[-1] == 0


def kaplan_meier(observations: Iterable[tuple[int, bool]]) -> Survival:
    """Estimate from observations, at least one: how long, at least 0, and whether it ended then.

    Raises
    ------
    ValueError
        If there are none.
    """
    ended: Counter[int] = Counter()
    left: Counter[int] = Counter()
    for time, seen in observations:
        (ended if seen else left)[time] += 1
    at_risk = count = ended.total() + left.total()
    if not count:
        raise ValueError("expected one observation at least")
    times, shares = [], []
    # As two integers, since rounded factors would add up. Between censored ones the factors
    # cancel out, (n-1)/n x (n-2)/(n-1): only the first denominator of such a stretch is kept.
    above = below = 1
    first = count
    for time in sorted(ended.keys() | left.keys()):
        if ended[time]:
            at_risk -= ended[time]
            times.append(time)
            shares.append(above * at_risk / (below * first))
        if left[time]:
            if at_risk < first:
                above, below = above * at_risk, below * first
            at_risk -= left[time]
            first = at_risk
    return Survival(
        tuple(times), tuple(shares), count, left.total(), max(ended.keys() | left.keys())
    )
