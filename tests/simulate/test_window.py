"""What of a simulation is measured, and that its books must balance."""

from __future__ import annotations

import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.errors import UsageError
from kantopt.simulate.history import History
from kantopt.simulate.metrics.window import Window, mean_ratio, median
from tests.simulate.histories import job, sample


def history(*at: int, horizon: int = 100) -> History:
    return History("p", "t", horizon=horizon, capacity=16_000, samples=[sample(t) for t in at])


def test_a_sample_holds_until_the_next_and_the_last_to_the_horizon() -> None:
    spans = Window(history(0, 10, 10, 40)).spans
    assert [(s.begin, s.end) for s in spans] == [(0, 10), (10, 40), (40, 100)]


def test_a_window_cuts_samples_at_both_ends() -> None:
    window = Window(history(0, 10, 40, 90), 20, 60)
    assert [(s.sample.at, s.begin, s.end) for s in window.spans] == [(10, 20, 40), (40, 40, 60)]
    assert window.length == 40
    assert [(s.at, moments) for s, moments in window.every(15)] == [(10, 2), (40, 1)]


def test_long_spans_cost_no_more_than_short_ones() -> None:
    years = Window(history(0, 7, horizon=10**15))
    assert [(s.at, moments) for s, moments in years.every(10)] == [(0, 1), (7, 10**14 - 1)]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=9),
    st.lists(st.integers(0, 60), max_size=5),
    st.integers(1, 40),
)
def test_medians_are_those_of_each_moment(
    values: list[tuple[int, int]], later: list[int], step: int
) -> None:
    each = [value / 7 for value, times in values for _ in range(times)]
    found = median((value / 7, times) for value, times in values)
    assert found == (statistics.median(each) if each else None)
    window = Window(history(0, *sorted(later), horizon=61), 3)
    one_by_one = [
        max(i for i, s in enumerate(window.history.samples) if s.at <= at)
        for at in range(3, 61, step)
    ]
    moments = [(window.history.samples.index(s), k) for s, k in window.every(step)]
    at = [window.history.samples[i].at for i in one_by_one]
    assert [window.history.samples[i].at for i, k in moments for _ in range(k)] == at


def test_jobs_belong_to_the_window_in_which_they_arrive() -> None:
    told = history(0)
    told.jobs = [job(f"n/{t}", arrival=t) for t in (0, 20, 59, 60)]
    told.jobs.append(job("n/never", arrival=30, refused="too large"))
    window = Window(told, 20, 60)
    assert [each.name for each in window.jobs] == ["n/20", "n/59"]
    assert len(window.arrived) == 3


def test_a_job_whose_arrival_ends_the_simulation_is_in_its_last_window() -> None:
    told = history(0, horizon=60)
    told.jobs = [job("n/20", arrival=20), job("n/60", arrival=60)]
    assert len(Window(told).arrived) == 2
    assert len(Window(told, 0, 60).arrived) == 2
    assert len(Window(told, 0, 59).arrived) == 1


@pytest.mark.parametrize(
    ("begin", "end", "asked"),
    [
        (100, None, "from 0.1 s on, to"),
        (50, 50, "from 0.05 s on and before 0.05 s"),
        (-1, 50, "from -0.001 s"),
    ],
)
def test_what_was_not_simulated_cannot_be_measured(begin: int, end: int | None, asked: str) -> None:
    with pytest.raises(UsageError, match=f"p on t: simulated for 0.1 s, .* {asked}"):
        Window(history(0), begin, end)


def test_the_begin_must_be_sampled() -> None:
    with pytest.raises(ValueError, match="no sample at 0 ms"):
        Window(history(5))
    assert Window(history(5), 5).length == 95


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"idle": 15_999}, "16000 mGPU are free, 15999 accounted"),
        ({"running": 1}, "more runs than is bound"),
        ({"healthy": 17_000}, "more runs than is bound"),
    ],
)
def test_a_sample_must_add_up(fields: dict[str, int], said: str) -> None:
    told = history(0)
    told.samples.append(sample(7, **fields))
    with pytest.raises(ValueError, match=f"p on t: at 7 ms .*{said}"):
        Window(told)


def test_a_mean_of_ratios_leaves_out_times_without_one() -> None:
    assert mean_ratio([(1, 2, 10), (1, 4, 30), (5, 0, 100)]) == Fraction(1, 2) * Fraction(
        1, 4
    ) + Fraction(1, 4) * Fraction(3, 4)
    assert mean_ratio([(1, 0, 5)]) is None
