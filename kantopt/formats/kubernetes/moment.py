"""When was a dump taken? ``kubectl`` does not say, but what it lists does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kantopt.formats.view import View, is_time, view_of

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def newest_moment(objects: Sequence[dict[str, Any]]) -> str | None:
    """Return the newest time that objects mention: the dump was taken then or moments later.

    Looks at creation, at start, and at the heartbeats and transitions of conditions; a kubelet
    reports at least every few minutes.
    """
    views = (view_of(item) for item in objects if isinstance(item, dict))
    found = (text for view in views for text in _moments(view) if _MOMENT.fullmatch(text))
    return max((moment for moment in found if is_time(moment)), default=None)


def _moments(view: View) -> Iterator[str]:
    status = view.at("status")
    yield view.at("metadata").text("creationTimestamp")
    yield status.text("startTime")
    for condition in status.list("conditions"):
        yield condition.text("lastHeartbeatTime")
        yield condition.text("lastTransitionTime")
