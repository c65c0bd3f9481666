"""How much of the cluster is in use (GAR, SOR), and how torn what is free is (GFR)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.window import Window, mean_ratio, median


def allocation(window: Window, every: int) -> Iterator[Value]:
    """Yield GAR and SOR.

    Parameters
    ----------
    window
        What is measured.
    every
        Milliseconds between the moments that the median is of.
    """
    spans = window.spans
    gar = mean_ratio((s.sample.reserved, s.sample.healthy, s.length) for s in spans)
    if gar is not None:
        yield Value("gar_mean", float(gar))
        moments = window.every(every)
        middle = median((s.reserved / s.healthy, k) for s, k in moments if s.healthy)
        if middle is not None:
            yield Value("gar_median", middle)
    reserved = sum(s.sample.reserved * s.length for s in spans)
    capacity = sum(s.sample.capacity * s.length for s in spans)
    if capacity:
        yield Value("sor_reserved", float(Fraction(reserved, capacity)))
    running = sum(s.sample.running * s.length for s in spans)
    healthy = sum(s.sample.healthy * s.length for s in spans)
    if healthy:
        yield Value("sor_running", float(Fraction(running, healthy)))


def fragmentation(window: Window, every: int) -> Iterator[Value]:
    """Yield GFR, stranded GPUs and the largest gang that would fit; ``every`` as above."""
    spans = window.spans
    gfr = mean_ratio((s.sample.fragmented, s.sample.nodes, s.length) for s in spans)
    if gfr is not None:
        yield Value("gfr_mean", float(gfr))
        moments = window.every(every)
        middle = median((s.fragmented / s.nodes, k) for s, k in moments if s.nodes)
        if middle is not None:
            yield Value("gfr_median", middle)
    yield Value("stranded_mean", sum(s.sample.stranded * s.length for s in spans) / window.length)
    largest = sum(s.sample.largest_gang * s.length for s in spans)
    yield Value("largest_gang_mean", largest / window.length)
    yield Value("largest_gang_min", min(s.sample.largest_gang for s in spans))
