"""Services: replicas on few GPUs that run for long; figures are ours, for want of public ones."""

from __future__ import annotations

import random
from math import exp, log

_GPUS = (1, 2, 4, 8)
_SHARES = (50, 25, 15, 10)
"""GPUs of a replica, and of 100 services how many have so many."""
_MOST_REPLICAS = 8
_MEDIAN_SECONDS, _SPREAD = 6 * 3600, 1.0
_LONGEST_SECONDS = 30 * 86_400


def mean_work(per_node: int, total: int) -> float:
    """GPU seconds of a service on average; parameters as of :func:`draw_service`."""
    gpus = 0.0
    for each, share in zip(_GPUS, _SHARES, strict=True):
        size = min(each, per_node)
        counts = [min(k, total // size) for k in range(1, _MOST_REPLICAS + 1)]
        gpus += share / sum(_SHARES) * size * sum(counts) / len(counts)
    return gpus * _MEDIAN_SECONDS * exp(_SPREAD**2 / 2)


def draw_service(per_node: int, total: int, rng: random.Random) -> tuple[int, int, float]:
    """Draw replicas (1 to 8), GPUs of each and seconds (lognormal, median 6 h) of a service.

    Parameters
    ----------
    per_node, total
        GPUs of a node, which no replica exceeds, and of the cluster, which no service does.
    rng
        Source of random numbers.
    """
    each = min(rng.choices(_GPUS, _SHARES)[0], per_node)
    replicas = min(rng.randint(1, _MOST_REPLICAS), total // each)
    seconds = exp(rng.gauss(log(_MEDIAN_SECONDS), _SPREAD))
    return replicas, each, min(seconds, _LONGEST_SECONDS)
