"""What users say how long their jobs run: the f-model.

Mu'alem and Feitelson, *Utilization, Predictability, Workloads, and User Runtime Estimates in
Scheduling the IBM SP2 with Backfilling*, IEEE Transactions on Parallel and Distributed Systems
12(6), 2001: an estimate lies anywhere from the run time r to (f + 1) r; with f = 0 it is exact.
"""

from __future__ import annotations

import random
from math import ceil


def draw_estimate(seconds: int, factor: float, rng: random.Random) -> int:
    """Draw an estimate in whole seconds, never below the run time."""
    return ceil(seconds * (1 + factor * rng.random()))
