"""JTTED as ratios: how far apart the pods of jobs were put, over the least possible."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.planning.by_size import nearest_rank
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.waiting import by_size
from kantopt.simulate.metrics.window import Window


def closeness(window: Window) -> Iterator[Value]:
    """Yield D_node and D_group of each size class: gangs of several pods that need all of them."""
    started = [job for job in window.jobs if job.pods > 1 and window.by(job.started)]
    for size, jobs in by_size(started):
        nodes = [job.nodes / job.least_nodes for job in jobs if job.least_nodes]
        groups = [job.groups / job.least_groups for job in jobs if job.least_groups]
        for name, ratios in (("d_node", nodes), ("d_group", groups)):
            yield from _spread(name, sorted(ratios), size)


def _spread(name: str, ratios: list[float], size: str) -> Iterator[Value]:
    if not ratios:
        return
    yield Value(f"{name}_jobs", len(ratios), size)
    for percent in (50, 90):
        yield Value(f"{name}_p{percent}", nearest_rank(ratios, percent), size)
    yield Value(f"{name}_max", ratios[-1], size)
    yield Value(f"{name}_at_one", sum(ratio == 1 for ratio in ratios) / len(ratios), size)
