"""Maintenance windows: crontab expressions in a time zone, each open for a while."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from kantopt.errors import Problem
from kantopt.schema.duration import duration_seconds
from kantopt.schema.hints import quote
from kantopt.schema.quantity import parse_quantity
from kantopt.schema.schedule import Schedule, Window

_FIELDS = (
    "a time that comes, in five fields: minute, hour, day of month, month, day of week, such as "
    "0 2 * * SAT"
)


def next_opening(windows: Sequence[Window], moment: datetime) -> datetime:
    """Return the first moment, from one on, at which some window is open.

    Windows are at least one, and have been checked: each opens some day. A window that opens again
    before it has closed goes on. Where clocks are changed, hours that do not exist are skipped and
    of those that come twice the first counts, as cron does.
    """
    return min(_next_opening(window, moment) for window in windows)


def _next_opening(window: Window, moment: datetime) -> datetime:
    from cronsim import CronSim

    local = moment.astimezone(ZoneInfo(window.timezone))
    # Both ways the moment itself is left out, so one second on for what has opened by now.
    opened = next(CronSim(window.cron, local + timedelta(seconds=1), reverse=True), None)
    if opened is not None:
        since = moment - opened.astimezone(UTC)
        if since < timedelta(seconds=duration_seconds(window.duration)):
            return moment
    return next(CronSim(window.cron, local)).astimezone(UTC)


def bytes_per_second(schedule: Schedule) -> int | None:
    """Bandwidth in whole bytes, if there is one."""
    return None if schedule.bandwidth is None else int(parse_quantity(schedule.bandwidth))


def check_schedule(schedule: Schedule, file: str, path: str) -> Iterator[Problem]:
    """Find expressions that never fire, unknown time zones, and amounts of nothing."""
    if schedule.bandwidth is not None and not bytes_per_second(schedule):
        found = quote(str(schedule.bandwidth))
        expected = "bytes a second, at least 1, such as 10Gi"
        yield Problem(file, f"{path}.bandwidth", found, expected)
    for i, window in enumerate(schedule.windows):
        place = f"{path}.windows[{i}]"
        if len(window.cron.split()) != 5 or not _fires(window.cron):
            yield Problem(file, f"{place}.cron", quote(window.cron), _FIELDS)
        if not _is_zone(window.timezone):
            expected = "a time zone such as Europe/Berlin"
            yield Problem(file, f"{place}.timezone", quote(window.timezone), expected)
        if not duration_seconds(window.duration):
            expected = "more than no time, such as 4h"
            yield Problem(file, f"{place}.duration", quote(window.duration), expected)


def _fires(cron: str) -> bool:
    from cronsim import CronSim, CronSimError

    try:
        return next(CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC)), None) is not None
    except CronSimError:
        return False


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, a path, a folder
        return False
    return True
