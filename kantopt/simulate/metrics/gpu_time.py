"""Where the GPU time went: an exact decomposition of capacity x time."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from kantopt.simulate.history import Sample
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.window import Window


class Parts(NamedTuple):
    """What the capacity is at one moment, or was over some time: these add up to all of it."""

    running: int
    restarting: int
    idle: int
    waiting: int
    fragmentation: int
    topology: int
    quota: int
    failed: int


def parts_of(sample: Sample) -> Parts:
    """Decompose a sample, milli-GPU."""
    return Parts(
        running=sample.running,
        restarting=sample.reserved - sample.running,
        idle=sample.idle,
        waiting=sample.lost_waiting,
        fragmentation=sample.lost_fragmentation,
        topology=sample.lost_topology,
        quota=sample.lost_quota,
        failed=sample.capacity - sample.healthy,
    )


def gpu_time(window: Window) -> Iterator[Value]:
    """Yield the GPU time of each part and of all, milli-GPU x milliseconds, and shares of it."""
    totals = [0] * len(Parts._fields)
    for span in window.spans:
        for i, part in enumerate(parts_of(span.sample)):
            totals[i] += part * span.length
    capacity = window.total("capacity")
    yield Value("capacity_time", capacity)
    for name, total in zip(Parts._fields, totals, strict=True):
        yield Value(f"{name}_time", total)
        if capacity:
            yield Value(f"{name}_share", float(Fraction(total, capacity)))
