"""How much of the cluster is in use (GAR, SOR), and how torn what is free is (GFR)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from operator import attrgetter

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
    yield from _ratio(window, every, "gar", "reserved", "healthy")
    if capacity := window.total("capacity"):
        yield Value("sor_reserved", float(Fraction(window.total("reserved"), capacity)))
    if healthy := window.total("healthy"):
        yield Value("sor_running", float(Fraction(window.total("running"), healthy)))


def fragmentation(window: Window, every: int) -> Iterator[Value]:
    """Yield GFR, stranded GPUs and the largest gang that would fit; ``every`` as above."""
    yield from _ratio(window, every, "gfr", "fragmented", "nodes")
    yield Value("stranded_mean", window.total("stranded") / window.length)
    yield Value("largest_gang_mean", window.total("largest_gang") / window.length)
    yield Value("largest_gang_min", min(s.sample.largest_gang for s in window.spans))


def _ratio(window: Window, every: int, name: str, part: str, whole: str) -> Iterator[Value]:
    """Yield mean and median over time of one count of samples over another."""
    counts = attrgetter(part, whole)
    mean = mean_ratio((*counts(span.sample), span.length) for span in window.spans)
    if mean is not None:
        yield Value(f"{name}_mean", float(mean))
    moments = ((*counts(sample), times) for sample, times in window.every(every))
    middle = median((a / b, times) for a, b, times in moments if b)
    if middle is not None:
        yield Value(f"{name}_median", middle)
