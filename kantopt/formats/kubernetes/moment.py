"""When was a dump taken? ``kubectl`` does not say, but what it lists does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kantopt.formats.view import is_time

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def newest_moment(objects: Sequence[dict[str, Any]]) -> str | None:
    """Return the newest time that objects mention: the dump was taken then or moments later.

    Looks at creation, at start, and at the heartbeats and transitions of conditions; a kubelet
    reports at least every few minutes.
    """
    found = (item for item in objects if isinstance(item, dict))
    times = (moment for item in found for moment in _moments(item))
    return max((moment for moment in times if is_time(moment)), default=None)


def _moments(item: dict[str, Any]) -> Iterator[str]:
    metadata, status = item.get("metadata"), item.get("status")
    found: list[Any] = []
    if isinstance(metadata, dict):
        found.append(metadata.get("creationTimestamp"))
    if isinstance(status, dict):
        found.append(status.get("startTime"))
        conditions = status.get("conditions")
        for condition in conditions if isinstance(conditions, list) else ():
            if isinstance(condition, dict):
                found += [condition.get("lastHeartbeatTime"), condition.get("lastTransitionTime")]
    yield from (text for text in found if isinstance(text, str) and _MOMENT.fullmatch(text))
