"""Intervals over replicates: Student's t by integration, means by hand."""

from __future__ import annotations

from math import gamma, pi, sqrt

import pytest

from kantopt.simulate.replicates import interval, t_quantile


def between(degrees: int, quantile: float) -> float:
    """Probability within +-quantile, by Simpson's rule over the density of Student's t."""
    scale = gamma((degrees + 1) / 2) / (sqrt(degrees * pi) * gamma(degrees / 2))

    def density(x: float) -> float:
        return scale * float((1 + x * x / degrees) ** (-(degrees + 1) / 2))

    steps = 4000
    h = quantile / steps
    inner = sum((4 if i % 2 else 2) * density(i * h) for i in range(1, steps))
    return 2 * h / 3 * (density(0) + inner + density(quantile))


@pytest.mark.parametrize("degrees", [*range(1, 31), 40, 60, 120])
def test_95_of_100_lie_within_the_quantile(degrees: int) -> None:
    assert between(degrees, t_quantile(degrees)) == pytest.approx(0.95, abs=5e-5)


@pytest.mark.parametrize("degrees", [31, 59, 100, 200])
def test_between_tabled_ones_intervals_are_rather_too_wide(degrees: int) -> None:
    assert 0.95 - 5e-5 <= between(degrees, t_quantile(degrees)) < 0.953


def test_an_interval_by_hand() -> None:
    found = interval([1, 2, 3, 4, 5])
    assert found is not None
    assert found.mean == 3
    assert found.half_width == pytest.approx(2.776 * sqrt(2.5 / 5))


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    assert interval([7]) == (7, None)
    assert interval([]) is None
