"""Maintenance windows: when is one open next?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kantopt.schema.schedule import Window
from kantopt.schema.windows import next_opening


def opens(moment: str, *windows: tuple[str, str, str]) -> str:
    made = [Window(cron=cron, timezone=zone, duration=length) for cron, zone, length in windows]
    found = next_opening(made, datetime.fromisoformat(moment))
    assert found.tzinfo is not None
    return found.astimezone(UTC).strftime("%a %d %b %H:%M:%S")


NIGHTLY = ("0 2 * * *", "UTC", "3h")


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-09-01T00:30:00Z", "Tue 01 Sep 02:00:00"),
        ("2026-09-01T02:00:00Z", "Tue 01 Sep 02:00:00"),
        ("2026-09-01T04:59:59Z", "Tue 01 Sep 04:59:59"),
        ("2026-09-01T05:00:00Z", "Wed 02 Sep 02:00:00"),
        ("2026-09-01T06:30:00+02:00", "Tue 01 Sep 04:30:00"),
    ],
)
def test_a_window_is_open_from_its_hour_until_its_duration_is_over(
    moment: str, expected: str
) -> None:
    assert opens(moment, NIGHTLY) == expected


def test_the_earliest_of_several_windows_counts() -> None:
    weekend = ("0 0 * * SAT", "UTC", "2d")
    assert opens("2026-09-04T12:00:00Z", NIGHTLY, weekend) == "Sat 05 Sep 00:00:00"
    assert opens("2026-09-06T23:59:00Z", NIGHTLY, weekend) == "Sun 06 Sep 23:59:00"
    assert opens("2026-09-07T00:00:00Z", NIGHTLY, weekend) == "Mon 07 Sep 02:00:00"


def test_a_window_that_opens_again_before_it_closes_never_closes() -> None:
    assert opens("2026-09-01T01:17:00Z", ("0 * * * *", "UTC", "90m")) == "Tue 01 Sep 01:17:00"


def test_hours_are_those_of_the_time_zone_in_summer_and_in_winter() -> None:
    berlin = ("30 1 * * *", "Europe/Berlin", "1h")
    assert opens("2026-07-01T12:00:00Z", berlin) == "Wed 01 Jul 23:30:00"
    assert opens("2026-12-01T12:00:00Z", berlin) == "Wed 02 Dec 00:30:00"


def test_an_hour_that_the_clock_change_skips_still_ends_when_its_duration_is_over() -> None:
    """In Berlin, 29 March 2026, 02:00 is 03:00: what opens at 01:30 is open for two real hours."""
    berlin = ("30 1 * * *", "Europe/Berlin", "2h")
    assert opens("2026-03-29T02:29:00Z", berlin) == "Sun 29 Mar 02:29:00"
    assert opens("2026-03-29T02:30:00Z", berlin) == "Sun 29 Mar 23:30:00"
