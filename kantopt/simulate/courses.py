"""How it went over time: simulations of one policy in equal steps, as pictures show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from kantopt.schema.answers.simulation import Course
from kantopt.simulate.history import Sample
from kantopt.simulate.metrics.gpu_time import Parts, parts_of
from kantopt.simulate.metrics.kaplan_meier import Survival, kaplan_meier
from kantopt.simulate.metrics.waiting import waits
from kantopt.simulate.metrics.window import Window

STEPS = 160
"""Of a picture: each is a few pixels wide."""
_FINE = 0.0025
"""Least difference of shares between two points of a curve."""


def courses_of(windows: Sequence[Window]) -> list[Course]:
    """Summarise simulations policy by policy; all windows have the same begin."""
    length = max(window.length for window in windows)
    step = -(-length // STEPS)
    policies = dict.fromkeys(window.history.policy for window in windows)
    return [
        _course(policy, [w for w in windows if w.history.policy == policy], step, length)
        for policy in policies
    ]


def _course(policy: str, windows: Sequence[Window], step: int, length: int) -> Course:
    count = -(-length // step)
    sums = [[0] * len(Parts._fields) for _ in range(count)]
    times = [0] * count
    ratios = [0.0] * count
    counted = [0] * count
    for window in windows:
        for k, sample, span in _pieces(window, step):
            times[k] += span
            for i, part in enumerate(parts_of(sample)):
                sums[k][i] += part * span
            if sample.nodes:
                counted[k] += span
                ratios[k] += sample.fragmented * span / sample.nodes
    means = {
        name: tuple(
            round(Fraction(total[i], time)) if time else None
            for total, time in zip(sums, times, strict=True)
        )
        for i, name in enumerate(Parts._fields)
    }
    seen = [wait for window in windows for wait in waits(window, window.jobs)]
    curve = kaplan_meier(seen) if seen else None
    return Course(
        policy=policy,
        step=step,
        **means,
        gfr=tuple(
            ratio / time if time else None for ratio, time in zip(ratios, counted, strict=True)
        ),
        waited=tuple(_thinned(curve)) if curve else (),
        censored=curve.censored if curve else 0,
        observed=curve.longest if curve else 0,
    )


def _pieces(window: Window, step: int) -> Iterator[tuple[int, Sample, int]]:
    """Cut the samples at the ends of steps: number of the step, sample, milliseconds."""
    for span in window.spans:
        begin = span.begin - window.begin
        end = span.end - window.begin
        while begin < end:
            k = begin // step
            until = min(end, (k + 1) * step)
            yield k, span.sample, until - begin
            begin = until


def _thinned(curve: Survival) -> Iterator[tuple[int, float]]:
    """Leave out points that nobody could tell from the one before; keep the last."""
    shown = 0.0
    for i, (time, share) in enumerate(zip(curve.times, curve.shares, strict=True)):
        if i in (0, len(curve.times) - 1) or 1 - share >= shown + _FINE:
            shown = 1 - share
            yield time, shown
