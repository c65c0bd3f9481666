"""R14 limits."""

from __future__ import annotations

from kantopt.cp.variables import Variables, weighted


def add_limits(m: Variables) -> None:
    """A plan evicts and moves no more pods than the model's limits."""
    limits = m.instance.model.limits
    running = [podset.index for podset in m.instance.podsets if podset.running]
    if limits.evictions is not None and running:
        m.cp.add(weighted([(m.evicted(s), 1) for s in running]) <= limits.evictions)
    if limits.moves is not None and running:
        m.cp.add(weighted([(m.arrived(s), 1) for s in running]) <= limits.moves)
