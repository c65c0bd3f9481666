"""Simulations in equal steps: means are kept, curves are thinned by what cannot be seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.schema.answers.simulation import Course
from kantopt.simulate.courses import STEPS, courses_of
from kantopt.simulate.history import History
from kantopt.simulate.metrics.gpu_time import Parts
from kantopt.simulate.metrics.kaplan_meier import kaplan_meier
from kantopt.simulate.metrics.waiting import waits
from kantopt.simulate.metrics.window import Window
from tests.simulate.histories import drawn, job, sample


def course(*histories: History) -> Course:
    return courses_of([Window(history) for history in histories])[0]


def test_a_step_is_the_mean_of_what_was_in_it() -> None:
    samples = [
        sample(0, reserved=8000, running=4000, fragmented=1),
        sample(150, reserved=8000, running=8000, healthy=8000, nodes=1),
    ]
    found = course(History("p", "t", STEPS * 100, 16_000, samples=samples))
    assert found.step == 100
    assert found.running[:3] == (4000, 6000, 8000)
    assert found.restarting[:3] == (4000, 2000, 0)
    assert found.idle[:3] == (8000, 4000, 0)
    assert found.failed[:3] == (0, 4000, 8000)
    assert found.gfr[:3] == (0.5, 0.25, 0)


def test_of_several_traces_only_those_count_that_still_run() -> None:
    short = History("p", "t1", 100, 16_000, samples=[sample(reserved=16_000, running=16_000)])
    long = History("p", "t2", 200, 16_000, samples=[sample()])
    windows = [Window(short), Window(long)]
    found = courses_of(windows)[0]
    assert set(found.running[:50]) == {8000}
    assert set(found.running[50:100]) == {0}
    other = History("q", "t1", 50, 16_000, samples=[sample()])
    assert courses_of([*windows, Window(other)])[1].running[25:] == (None,) * 75


@given(st.integers(0, 10**6))
def test_the_steps_hold_all_of_the_gpu_time(seed: int) -> None:
    history = drawn(seed, jobs=8)
    found = course(history)
    steps = len(found.running)
    for k in range(steps):
        whole = sum(getattr(found, part)[k] for part in Parts._fields)
        assert abs(whole - history.capacity) <= len(Parts._fields)
    lengths = [min(found.step, history.horizon - k * found.step) for k in range(steps)]
    running = sum(stay.gpus * (stay.end - stay.working) for stay in history.stays)
    shown = sum(value * n for value, n in zip(found.running, lengths, strict=True) if value)
    assert abs(shown - running) <= history.horizon


def test_curves_keep_both_ends_and_all_that_can_be_seen() -> None:
    history = History("p", "t", 10**7, 16_000, samples=[sample()])
    history.jobs = [job(f"n/{i}", started=(i + 1) ** 2) for i in range(3000)]
    history.jobs.append(job("n/waits", arrival=10))
    found = course(history)
    curve = kaplan_meier(waits(Window(history), history.jobs))
    assert (found.censored, found.observed) == (1, 10**7 - 10)
    assert found.waited[0][0] == 1
    assert found.waited[-1][0] == 9_000_000
    assert found.waited[-1][1] == pytest.approx(3000 / 3001)
    assert len(found.waited) <= 402
    shown = dict(found.waited)
    last = 0.0
    for time in curve.times:
        last = shown.get(time, last)
        assert 0 <= 1 - curve.after(time) - last < 0.003


def test_without_a_job_there_is_no_curve() -> None:
    found = course(History("p", "t", 100, 16_000, samples=[sample()]))
    assert (found.waited, found.censored, found.observed) == ((), 0, 0)
