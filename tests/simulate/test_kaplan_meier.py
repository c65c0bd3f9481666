"""Kaplan-Meier: cases by hand, the empirical distribution, the product written out."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.simulate.metrics.kaplan_meier import kaplan_meier

OBSERVATIONS = st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=40)


def test_a_case_by_hand_with_ties_and_censored_ones() -> None:
    # At 1 one of six ends; 2 is censored; at 3 two of four end, one is censored; at 5 the last.
    curve = kaplan_meier([(1, True), (2, False), (3, True), (3, True), (3, False), (5, True)])
    assert curve.times == (1, 3, 5)
    assert curve.shares == (5 / 6, float(Fraction(5, 6) * Fraction(2, 4)), 0.0)
    assert (curve.count, curve.censored, curve.longest) == (6, 2, 5)
    assert [curve.after(t) for t in (0, 1, 2, 3, 4, 5)] == [1, 5 / 6, 5 / 6, 5 / 12, 5 / 12, 0]
    assert [curve.quantile(k) for k in (10, 50, 90)] == [1, 3, 5]
    assert curve.mean == pytest.approx(1 + 2 * 5 / 6 + 2 * 5 / 12)


def test_where_the_last_are_censored_upper_quantiles_are_not_reached() -> None:
    curve = kaplan_meier([(10, True), (20, False), (40, False)])
    assert curve.quantile(33) == 10
    assert curve.quantile(34) is None
    assert not curve.complete
    assert curve.mean == pytest.approx(10 + 30 * 2 / 3)


def test_of_nothing_there_is_no_curve() -> None:
    with pytest.raises(ValueError, match="one observation"):
        kaplan_meier([])


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(1, 100))
def test_without_censored_ones_it_is_the_empirical_distribution(
    times: list[int], percent: int
) -> None:
    curve = kaplan_meier((time, True) for time in times)
    for t in range(32):
        assert curve.after(t) == sum(time > t for time in times) / len(times)
    ranked = sorted(times)
    assert curve.quantile(percent) == ranked[-(-percent * len(times) // 100) - 1]
    assert curve.mean == pytest.approx(sum(times) / len(times))
    assert curve.complete


@given(OBSERVATIONS)
def test_it_is_the_product_of_those_who_lasted(observations: list[tuple[int, bool]]) -> None:
    curve = kaplan_meier(observations)
    share = Fraction(1)
    for t in range(31):
        at_risk = sum(time >= t for time, _ in observations)
        if at_risk:
            share *= 1 - Fraction(sum(time == t and seen for time, seen in observations), at_risk)
        if t <= curve.longest:
            assert curve.after(t) == float(share)
