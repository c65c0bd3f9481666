"""Sizes and run times of the jobs of Seren and Kalos, as published with AcmeTrace (CC-BY-4.0).

Hu et al., *Characterization of Large Language Model Development in the Datacenter*, NSDI 2024;
figures of InternLM/AcmeTrace. Shares by size are read off its picture of GPUs per job, to a
hundredth of a percent; sizes in between count for the next smaller one here. Its picture begins
below one GPU with the jobs of one GPU: with them, the mean size of Kalos is the published one.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from math import erfc, exp, log, sqrt

from kantopt.simulate.workload.sizes import Sizes


@dataclass(frozen=True, slots=True)
class Profile:
    """The jobs with GPUs of one cluster.

    Run times are drawn from a lognormal distribution, cut off at the longest one: the form is ours.
    Its mean, for each size, is what the published shares of GPU time make of it; one spread serves
    all sizes, such that the median of all jobs is the published one.
    """

    name: str
    table: tuple[tuple[int, float, float], ...]
    """GPUs of a job, percent of the jobs, percent of the GPU time."""
    jobs: int
    """Jobs with GPUs."""
    gpu_seconds: int
    """GPU time of all of them."""
    longest_seconds: int
    """What is longer runs so long."""
    spread: float
    """Standard deviation of the logarithm of run times of one size."""

    def sizes(self) -> Sizes:
        """GPUs of jobs as they are submitted."""
        return Sizes(
            tuple(gpus for gpus, _, _ in self.table), tuple(jobs for _, jobs, _ in self.table)
        )

    def mean_of(self, gpus: int) -> float:
        """Mean run time in seconds of jobs of a size, or of the next smaller one in the table."""
        k = bisect_right([row[0] for row in self.table], gpus) - 1
        size, jobs, time = self.table[max(k, 0)]
        return time * self.gpu_seconds / (jobs * self.jobs * size)

    def draw(self, gpus: int, rng: random.Random) -> float:
        """Draw a run time in seconds for a job of a size."""
        middle = _middle(self.mean_of(gpus), self.spread, self.longest_seconds)
        return min(exp(rng.gauss(middle, self.spread)), self.longest_seconds)


@lru_cache(maxsize=1024)
def _middle(mean: float, spread: float, longest: float) -> float:
    """Logarithm of the median of a lognormal time that has a mean once it is cut off.

    By bisection; the limited expected value is that of Klugman, Panjer and Willmot, *Loss Models*,
    appendix A.
    """
    below, above = log(mean) - spread**2 / 2, log(longest) + spread**2
    if mean >= longest:
        return above
    for _ in range(60):
        middle = (below + above) / 2
        cut = (log(longest) - middle) / spread
        part = exp(middle + spread**2 / 2) * _normal(cut - spread) + longest * _normal(-cut)
        below, above = (middle, above) if part < mean else (below, middle)
    return below


def _normal(x: float) -> float:
    """Distribution function of the standard normal distribution."""
    return erfc(-x / sqrt(2)) / 2


SEREN = Profile(
    name="seren",
    table=(
        (1, 54.04, 1.35),
        (2, 11.51, 0.45),
        (4, 2.44, 0.59),
        (8, 28.76, 9.53),
        (16, 1.16, 1.29),
        (32, 0.99, 6.08),
        (64, 0.45, 9.40),
        (128, 0.23, 14.92),
        (256, 0.15, 20.53),
        (512, 0.13, 5.72),
        (768, 0.08, 17.53),
        (1024, 0.06, 12.61),
    ),
    jobs=663_813,
    gpu_seconds=4_560_592_618 + 14_274_584_510 + 2_675_447_459,
    longest_seconds=1_209_604,
    spread=2.043,
)

KALOS = Profile(
    name="kalos",
    table=(
        (1, 86.28, 0.14),
        (2, 2.07, 0.02),
        (8, 5.57, 0.46),
        (16, 0.34, 0.02),
        (32, 0.39, 1.32),
        (64, 0.69, 1.56),
        (128, 0.34, 0.23),
        (256, 1.22, 21.23),
        (496, 0.12, 1.81),
        (504, 0.18, 9.93),
        (512, 1.74, 27.53),
        (1024, 1.06, 35.75),
    ),
    jobs=19_907,
    gpu_seconds=1_667_685_146 + 3_239_202_064 + 426_292_851,
    longest_seconds=625_740,
    spread=1.730,
)

PROFILES = {profile.name: profile for profile in (KALOS, SEREN)}
