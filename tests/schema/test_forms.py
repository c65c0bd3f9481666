"""Quantities, durations and times: what the published patterns take is what the reader takes."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from kantopt.schema.base import LAST_YEAR, Duration, Quantity, Timestamp
from kantopt.schema.published import PUBLISHED, published_schema
from kantopt.schema.quantity import decimal
from tests.campaign import some

FORMS = {"quantity": Quantity, "duration": Duration, "time": Timestamp}

SUFFIXES = [
    "",
    *"numkMGTPE",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "Ei",
    "KB",
    "GB",
    "gi",
    "K",
    "e3",
    "E-3",
]
DIGITS = st.text("0123456789", max_size=4)
QUANTITIES = st.builds(
    "{}{}{}{}{}{}".format,
    st.sampled_from(["", "", "", "+", "-", " "]),
    DIGITS,
    st.sampled_from(["", ".", "..", ",", "_"]),
    DIGITS,
    st.sampled_from(SUFFIXES),
    st.sampled_from(["", "", "", "i", " ", "\u0665"]),
)
DURATIONS = st.lists(
    st.builds("{}{}".format, DIGITS, st.sampled_from(["d", "h", "m", "s", "ms", "", "D", ".5h"])),
    max_size=4,
).map("".join)
TIMES = st.builds(
    "{}-{}-{}{}{}:{}:{}{}{}".format,
    st.sampled_from(["2026", "2024", "0001", "9899", "9900", "0000", "26", "\u0662026"]),
    st.sampled_from(["00", "01", "02", "09", "12", "13", "9"]),
    st.sampled_from(["00", "01", "28", "29", "30", "31", "32"]),
    st.sampled_from(["T", "T", "T", "t", " "]),
    *[st.sampled_from(["00", "05", "23", "24", "59", "60", "5"])] * 3,
    st.sampled_from(["", "", ".5", ".123456789", ".", ",5"]),
    st.sampled_from(["Z", "Z", "z", "", "+02:00", "-23:59", "+24:00", "+0200", "+05:60"]),
)


@cache
def schema_of(name: str) -> Draft202012Validator:
    return Draft202012Validator(TypeAdapter(FORMS[name]).json_schema())


def published(name: str, value: object) -> bool:
    """What an editor says; the ``$`` of Python alone would let a last line break pass."""
    breaks = isinstance(value, str) and value.endswith("\n")
    return not breaks and bool(schema_of(name).is_valid(value))


def refused(name: str, value: object) -> str:
    """Why the reader refuses a value; empty if it does not."""
    try:
        TypeAdapter(FORMS[name]).validate_python(value, strict=True)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    return ""


def is_day(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


@given(QUANTITIES | st.integers(-5, 2**64) | st.text("0123456789.mkGiE+-", max_size=6))
@settings(max_examples=len(some(range(1500))))
def test_a_quantity_is_read_if_it_has_the_form_and_is_not_too_large(value: str | int) -> None:
    why = refused("quantity", value)
    assert published("quantity", value) == (not why or (isinstance(value, str) and "large" in why))


@given(DURATIONS | st.text("0123456789dhms", max_size=8))
@settings(max_examples=len(some(range(1000))))
def test_a_duration_is_read_exactly_if_it_has_the_form(value: str) -> None:
    assert published("duration", value) == (not refused("duration", value))


@given(TIMES)
@settings(max_examples=len(some(range(1500))))
def test_a_time_is_read_if_it_has_the_form_and_the_calendar_has_it(value: str) -> None:
    beyond = not is_day(value) or value[:4] in ("0001", str(LAST_YEAR), str(LAST_YEAR + 1))
    if published("time", value):
        assert beyond or not refused("time", value)
    else:
        assert refused("time", value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("quantity", text) for text in ("500m", "16Gi", "8", "1.5", ".5", "1e3", "+1", "0", 8)],
        *[("duration", text) for text in ("10s", "15m", "2d", "1h30m", "0s")],
        *[("time", text) for text in ("2026-09-01T03:00:00Z", "2024-02-29T23:59:59.5+02:00")],
    ],
)
def test_these_are_valid_and_read(name: str, value: object) -> None:
    assert published(name, value)
    assert not refused(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("quantity", text) for text in ("512GB", "16gi", "1,5", "-1", "-0", "", "5\n", "\u0665")],
        *[("quantity", value) for value in (-1, 2**63, 0.5, True, None)],
        *[
            ("duration", text)
            for text in ("500ms", "1.5h", "30", "", "m", "1m1h", "5m\n", "\u0665m")
        ],
        *[
            ("time", text)
            for text in ("2026-09-01", "2026-13-01T00:00:00Z", "2026-09-01T24:00:00Z")
        ],
    ],
)
def test_these_are_invalid_and_refused(name: str, value: object) -> None:
    assert not published(name, value)
    assert refused(name, value)


def test_only_the_reader_knows_what_is_too_large_and_which_days_there_are() -> None:
    for name, value in (("quantity", "9Ei"), ("time", "2026-02-30T00:00:00Z")):
        assert published(name, value)
        assert refused(name, value)
    assert "at most 2^63-1" in str(schema_of("quantity").schema)
    assert "a day that the calendar has" in str(schema_of("time").schema)


def test_every_example_is_valid_and_every_form_has_some() -> None:
    found: dict[str, list[Any]] = {}

    def look(part: Any) -> None:
        if isinstance(part, dict):
            if isinstance(part.get("pattern"), str):
                found.setdefault(part["pattern"], []).append(part)
            for each in part.values():
                look(each)
        elif isinstance(part, list):
            for each in part:
                look(each)

    for kind in PUBLISHED:
        look(published_schema(kind))
    for name in FORMS:
        places = found[schema_of(name).schema["pattern"]]
        assert len(places) > 2, name
        for place in places:
            assert len(place["examples"]) > 1
            assert all(schema_of(name).is_valid(each) for each in place["examples"])


@pytest.mark.parametrize(
    ("resource", "amount", "said"),
    [
        ("cpu", 6_569_650, "6569.65"),
        ("cpu", 7_168_000, "7168"),
        ("cpu", 5, "0.005"),
        ("memory", 2 << 30, "2Gi"),
        ("pods", 10, "10"),
    ],
)
def test_amounts_for_people_are_in_one_unit(resource: str, amount: int, said: str) -> None:
    assert decimal(resource, amount) == said
