"""Numbers and names as an operator reads them."""

from __future__ import annotations

import pytest

from kantopt.report.names import joined, on_devices, places
from kantopt.report.units import duration, in_unit, percent, size_bytes, thousandths, unit_name
from kantopt.schema.hints import plural


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (12500, "12.5"), (8000, "8"), (1, "0.001"), (10000, "10")]
)
def test_thousandths_have_no_trailing_zeros(value: int, text: str) -> None:
    assert thousandths(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (45, "45s"),
        (60, "1m"),
        (3600, "1h"),
        (11520, "3h12m"),
        (3605, "1h"),
        (190800, "2d5h"),
        (86461, "1d"),
    ],
)
def test_durations_have_the_two_units_that_matter(seconds: int, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1500, "milli-GPU", "1.5"),
        (1500, "cpu", "1.5"),
        (3 * 2**39, "memory", "1.5Ti"),
        (90, "seconds", "1m30s"),
        (7, "pods", "7"),
        (1500, "milliwatts", "1.5"),
        (11_000_001, "micro-units", "11.000001"),
        (40_000_000, "micro-units", "40"),
        (0, "micro-units", "0"),
        (2**30, "hugepages-1Gi", "1Gi"),
    ],
)
def test_numbers_in_the_units_of_the_documents(value: int, unit: str, text: str) -> None:
    assert in_unit(value, unit) == text


def test_small_things() -> None:
    assert percent(1, 3) == "33.33%"
    assert percent(0, 0) == "-"
    assert size_bytes(12) == "12B"
    assert (plural(1, "pod"), plural(2, "pod")) == ("1 pod", "2 pods")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["login"], "login"),
        (["gpu-001"], "gpu-001"),
        (["gpu-001", "gpu-002", "gpu-003"], "gpu-[001-003]"),
        (["gpu-9", "gpu-10", "gpu-11"], "gpu-9, gpu-[10-11]"),
        (["a-1.dc", "a-3.dc", "login"], "a-[1,3].dc, login"),
        (["gpu-001", "gpu-01"], "gpu-001, gpu-01"),
    ],
)
def test_runs_of_names_are_joined_and_none_is_lost(names: list[str], text: str) -> None:
    assert joined(names) == text


def test_places_say_how_many_pods_each_takes() -> None:
    assert places([("n1", 1), ("n2", 1)]) == "n[1-2]"
    assert places([("n1", 2)]) == "n1 x2"
    assert places([("n1", 2), ("n2", 2), ("n5", 1)]) == "n[1-2] x2 each, n5 x1"
    assert on_devices(("n1", (0, 1))) == "n1:0,1"


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        ("1", "nodes", "node"),
        ("1", "milli-GPU", "GPU"),
        ("0", "pods", "pods"),
        ("1", "cost", "cost"),
    ],
)
def test_one_of_a_unit_is_singular(number: str, unit: str, text: str) -> None:
    assert unit_name(unit, number) == text
