"""The part of a simulation that is measured: after the warm-up and up to the horizon."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from kantopt.errors import UsageError
from kantopt.simulate.history import History, JobRecord, Sample


@dataclass(frozen=True, slots=True)
class Span:
    """A sample and how much of the window it is for, milliseconds, at least 1."""

    sample: Sample
    begin: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.begin


class Window:
    """A simulation from one moment to another, milliseconds since its start.

    A job belongs to the window in which it arrives; a sample holds until the next one.
    """

    def __init__(self, history: History, begin: int = 0, end: int | None = None) -> None:
        """Cut a history to a window.

        Raises
        ------
        UsageError
            If nothing of the simulation is in it.
        ValueError
            If samples do not cover it from its begin on, or if a sample does not add up
            (:class:`Sample` says to what).
        """
        self.history = history
        self.begin = begin
        self.end = history.horizon if end is None else min(end, history.horizon)
        self.name = f"{history.policy} on {history.trace}"
        if not history.horizon:
            expected = "jobs that come, or --until to measure the cluster as it stands"
            raise UsageError(f"{self.name}: found nothing that happens, expected {expected}")
        if not 0 <= self.begin < self.end:
            asked = f"from {begin / 1000:.12g} s on"
            asked += "" if end is None else f" and before {end / 1000:.12g} s"
            raise UsageError(
                f"{self.name}: simulated for {history.horizon / 1000:.12g} s, expected some of it "
                f"{asked}, to be measured"
            )
        self.spans = tuple(self._spans())
        if not self.spans or self.spans[0].begin != self.begin:
            raise ValueError(f"{self.name}: no sample at {self.begin} ms or before")
        for span in self.spans:
            _check(span.sample, self.name)

    @property
    def length(self) -> int:
        return self.end - self.begin

    def total(self, count: str) -> int:
        """Return a count of the samples times the milliseconds for which each holds."""
        return sum(getattr(span.sample, count) * span.length for span in self.spans)

    def _spans(self) -> Iterator[Span]:
        samples = self.history.samples
        ends = [later.at for _, later in pairwise(samples)] + [self.history.horizon]
        for sample, until in zip(samples, ends, strict=True):
            begin, end = max(sample.at, self.begin), min(until, self.end)
            if begin < end:
                yield Span(sample, begin, end)

    @property
    def jobs(self) -> list[JobRecord]:
        """Jobs that arrive in the window and could start in an empty cluster."""
        return [job for job in self.arrived if not job.refused]

    @property
    def arrived(self) -> list[JobRecord]:
        """Jobs that arrive in the window; one whose arrival ends the simulation is in its last."""
        last = self.end == self.history.horizon
        return [
            job
            for job in self.history.jobs
            if self.begin <= job.arrival < self.end or (last and job.arrival == self.end)
        ]

    def by(self, moment: int | None) -> bool:
        """Whether something happened by the end of the window."""
        return moment is not None and moment <= self.end

    def done(self, job: JobRecord) -> bool:
        """Whether a job was done by the end of the window, and did not just leave."""
        return self.by(job.ended) and not job.left_early

    def every(self, step: int) -> Iterator[tuple[Sample, int]]:
        """Yield samples, and how many moments each holds: the begin and every ``step`` ms later."""
        for span in self.spans:
            before, until = (-((self.begin - at) // step) for at in (span.begin, span.end))
            if before < until:
                yield span.sample, until - before


def _check(sample: Sample, name: str) -> None:
    free = sample.healthy - sample.reserved
    lost = (
        sample.lost_quota
        + sample.lost_topology
        + sample.lost_fragmentation
        + sample.lost_waiting
        + sample.idle
    )
    if not (0 <= sample.running <= sample.reserved <= sample.healthy <= sample.capacity):
        raise ValueError(f"{name}: at {sample.at} ms more runs than is bound, healthy or there")
    if free != lost:
        raise ValueError(f"{name}: at {sample.at} ms {free} mGPU are free, {lost} accounted for")


def median(values: Iterable[tuple[float, int]]) -> float | None:
    """Return the median of values, each so many times; ``None`` of nothing."""
    ranked = sorted(values)
    number = sum(times for _, times in ranked)
    if not number:
        return None
    ends = list(accumulate(times for _, times in ranked))
    low, high = (ranked[bisect_right(ends, at)][0] for at in ((number - 1) // 2, number // 2))
    return (low + high) / 2


def mean_ratio(parts: Iterable[tuple[int, int, int]]) -> Fraction | None:
    """Time-mean of a ratio, exactly.

    Parameters
    ----------
    parts
        Numerator, denominator, length. Where the denominator is 0 there is no ratio, and this
        time does not count.
    """
    sums: dict[int, int] = {}
    total = 0
    for part, whole, length in parts:
        if whole:
            sums[whole] = sums.get(whole, 0) + part * length
            total += length
    if not total:
        return None
    return sum((Fraction(part, whole) for whole, part in sums.items()), Fraction(0)) / total
