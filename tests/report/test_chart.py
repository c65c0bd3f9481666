"""Axes with round marks, and labels that do not hide each other."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.report.chart import Panel, apart, number_axis, share_axis, time_axis, wait_axis

HOUR = 3_600_000


def test_times_have_round_marks_and_no_more_than_fit() -> None:
    axis = time_axis(90 * 60_000, 26 * HOUR)
    assert [said for _, said in axis.ticks] == ["3h", "6h", "9h", "12h", "15h", "18h", "21h", "1d"]
    fine = time_axis(0, 30_000)
    assert [said for _, said in fine.ticks] == [f"{second}s" for second in range(0, 31, 5)]


@given(st.integers(0, 10**12), st.integers(1, 10**12))
def test_any_time_has_at_most_eleven_marks_within(begin: int, length: int) -> None:
    axis = time_axis(begin, begin + length)
    assert len(axis.ticks) <= 11
    assert all(begin <= mark <= begin + length for mark, _ in axis.ticks)


def test_waits_are_on_a_logarithmic_axis_that_reaches_the_longest() -> None:
    axis = wait_axis(2 * HOUR)
    assert [said for _, said in axis.ticks] == ["1s", "10s", "1m", "10m", "1h", "6h"]
    assert axis.part(0) == axis.part(1000) == 0
    assert axis.part(axis.high) == 1
    assert axis.part(10_000) - axis.part(1000) == pytest.approx(
        axis.part(600_000) - axis.part(60_000)
    )
    assert wait_axis(10**12).high == 10**12


@pytest.mark.parametrize(("high", "top"), [(0.0, "1%"), (0.03, "5%"), (0.5, "50%"), (1, "100%")])
def test_shares_end_at_a_round_one(high: float, top: str) -> None:
    assert share_axis(high).ticks[-1][1] == top


@pytest.mark.parametrize("high", [1, 7, 64, 2500, 123_456])
def test_numbers_have_three_to_six_marks(high: float) -> None:
    axis = number_axis(high)
    assert 3 <= len(axis.ticks) <= 6
    assert axis.high == high
    assert all(float(said) == mark for mark, said in axis.ticks)


def test_a_panel_turns_values_into_places() -> None:
    panel = Panel(100, 10, 200, 50, number_axis(10), number_axis(4))
    assert panel.at(0, 0) == (100, 60)
    assert panel.at(5, 4) == (200, 10)
    assert panel.area([0, 5, 10], [0, 0], [4, 2], "#000") == (
        '<path d="M100.0,60.0V10.0H200.0V35.0H300.0V60.0H200.0V60.0H100.0Z" fill="#000"/>'
    )


@given(st.lists(st.floats(0, 100), max_size=7))
def test_labels_keep_their_order_and_their_distance(wanted: list[float]) -> None:
    places = apart(wanted, 0, 100)
    assert all(0 - 1e-9 <= place <= 100 for place in places)
    ordered = sorted(places)
    assert all(b - a >= 14 - 1e-9 for a, b in pairwise(ordered))
    assert sorted(range(len(wanted)), key=lambda i: (wanted[i], i)) == sorted(
        range(len(places)), key=lambda i: places[i]
    )
