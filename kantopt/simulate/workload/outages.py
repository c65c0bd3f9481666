"""Nodes that fail and are repaired: alternating renewal processes, one per node, exponential both.

Each node is up for a time with the mean MTBF, then down for one with the mean MTTR, and so on,
independently of others; that both are exponential is the usual assumption and ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from kantopt.schema.trace import Outage


def draw_outages(
    nodes: Sequence[str], span: int, mtbf: float, mttr: float, rng: random.Random
) -> tuple[Outage, ...]:
    """Draw failures that begin within a span, in order of time.

    Parameters
    ----------
    nodes
        Names of the nodes.
    span
        Seconds from the start of the trace.
    mtbf, mttr
        Mean seconds that a node is up, and down.
    rng
        Source of random numbers.
    """
    found: list[tuple[int, str, int]] = []
    for node in nodes:
        at = rng.expovariate(1 / mtbf)
        while at < span:
            lasts = max(1, round(rng.expovariate(1 / mttr)))
            found.append((int(at), node, lasts))
            at = int(at) + lasts + max(1.0, rng.expovariate(1 / mtbf))
    return tuple(
        Outage(node=node, at=f"{at}s", lasts=f"{lasts}s") for at, node, lasts in sorted(found)
    )
