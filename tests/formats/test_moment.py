"""The moment of a dump is the newest time in it."""

from __future__ import annotations

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.kubernetes.moment import newest_moment
from tests.formats.cluster_objects import pod, read


def test_the_last_heartbeat_of_a_node_is_the_moment() -> None:
    node = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2026-09-01T03:00:00Z"}]},
    }
    pod = {"metadata": {}, "status": {"startTime": "2026-08-31T20:00:00Z"}}
    assert newest_moment([node, pod]) == "2026-09-01T03:00:00Z"


def test_no_times_and_broken_ones_give_none() -> None:
    odd = [{"metadata": {"creationTimestamp": "soon"}}, {"status": []}, {}]
    odd.append({"metadata": {"creationTimestamp": "2026-13-01T00:00:00Z"}})
    assert newest_moment(odd) is None


def test_a_day_that_the_calendar_lacks_is_an_error() -> None:
    never = {"creationTimestamp": "2026-02-30T00:00:00Z"}
    with pytest.raises(BadDataError, match=r"items\[0\].metadata.creationTimestamp.*a time"):
        read(pod("p", metadata=never))
