"""The moment of a dump is the newest time in it."""

from __future__ import annotations

from kantopt.formats.moment import newest_moment


def test_the_last_heartbeat_of_a_node_is_the_moment() -> None:
    node = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2026-09-01T03:00:00Z"}]},
    }
    pod = {"metadata": {}, "status": {"startTime": "2026-08-31T20:00:00Z"}}
    assert newest_moment([node, pod]) == "2026-09-01T03:00:00Z"


def test_no_times_and_broken_ones_give_none() -> None:
    odd = [{"metadata": {"creationTimestamp": "soon"}}, {"status": []}, {}]
    assert newest_moment(odd) is None
