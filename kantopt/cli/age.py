"""Is a snapshot recent enough to act upon?"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kantopt.clock import rfc3339
from kantopt.errors import BadDataError, Problem

if TYPE_CHECKING:
    from kantopt.planning.question import Question


def check_snapshot_age(question: Question, most_seconds: float, now: datetime) -> None:
    """Refuse a snapshot that is older than allowed, as far from the future, or of unknown age.

    What ``kubectl`` prints bears no time; it counts as taken when the newest object changed.

    Raises
    ------
    BadDataError
        If the snapshot is refused.
    """
    from kantopt.report.units import duration

    found, place = "nothing", "metadata.capturedAt"
    if question.imported:
        found, place = "no time in any object", ""
    taken = question.snapshot.metadata.captured_at
    if taken is not None:
        age = (now - datetime.fromisoformat(taken)).total_seconds()
        if abs(age) <= most_seconds:
            return
        found = f"{taken}, {duration(abs(age))} {'ago' if age > 0 else 'from now'}"
        found += ", as the newest time in it" if question.imported else ""
    expected = f"a moment at most {duration(most_seconds)} before {rfc3339(now)}"
    raise BadDataError([Problem(question.source, place, found, expected)])
