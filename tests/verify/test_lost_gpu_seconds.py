"""GPU time that is lost with the pods that end; the snapshot is of 01:00."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verify.world import Document, job, node, pods, question, values

NODES = [node("a", cpu=16, gpu=8), node("b", cpu=16, gpu=8)]
LOST = ["lost_gpu_seconds"]


def only(tiers: dict[str, int]) -> int:
    """Value of the only tier."""
    (value,) = tiers.values()
    return value


def ran(name: str, since: str, **more: Any) -> Document:
    return job(name, pods(count=2, gpu=2, on=["a", "a"]), startTime=f"2026-01-01T{since}Z", **more)


@pytest.mark.parametrize(
    ("more", "lost"),
    [
        ({}, 2 * 600),
        ({"lastCheckpointTime": "2026-01-01T00:59:00Z"}, 2 * 60),
        ({"lastCheckpointTime": "2026-01-01T00:10:00Z"}, 2 * 600),
        ({"lastCheckpointTime": "2026-01-01T09:00:00Z"}, 0),
    ],
    ids=["since the start", "since a checkpoint", "one before the start", "one yet to come"],
)
def test_work_is_lost_since_the_start_or_the_last_checkpoint(more: Document, lost: int) -> None:
    instance = question(NODES, [ran("r", "00:50:00", **more)], objectives=LOST)
    if lost == 0:
        assert values(instance, r=[]) == {}
    else:
        assert only(values(instance, r=["a"])) == lost
        assert only(values(instance, r=[])) == 2 * lost


def test_a_restart_elsewhere_loses_work_and_a_live_move_none() -> None:
    for mode, lost in (("restart", 1200), ("live", 0)):
        jobs = [ran("r", "00:50:00", moveMode=mode)]
        instance = question(NODES, jobs, objectives=LOST)
        assert only(values(instance, r=["a", "b"])) == lost
        assert only(values(instance, r=["b"])) == 1200 + lost


def test_lost_gpu_time_can_be_counted_by_priority_and_a_role_has_times_of_its_own() -> None:
    late = {"startTime": "2026-01-01T00:59:59.5Z"}
    jobs = [
        job("r", pods(gpu=1, on=["a"], **late), priority=2, startTime="2026-01-01T00:00:00Z"),
        job("low", pods(gpu=1, on=["b"], startTime="2026-01-01T00:59:50Z"), priority=1),
    ]
    objectives = [{"lost_gpu_seconds": {"by": "priority"}}]
    instance = question(NODES, jobs, objectives=objectives)
    assert values(instance, r=[], low=[]) == {"lost_gpu_seconds[priority=1]": 10}


def test_without_times_nothing_is_known_to_be_lost() -> None:
    jobs = [job("r", pods(gpu=1, on=["a"]))]
    assert values(question(NODES, jobs, objectives=LOST), r=[]) == {}
    jobs = [ran("r", "00:00:00")]
    asked = question(NODES, jobs, objectives=LOST, metadata={})
    assert values(asked, r=[]) == {}


@pytest.mark.parametrize(("owners", "lost"), [("ss", 0), ("sj", 1200), ("", 1200), ("jj", 1200)])
def test_pods_of_services_lose_no_work_if_all_of_a_pod_set_are_known_to_serve(
    owners: str, lost: int
) -> None:
    kinds = {"s": "StatefulSet", "j": "Job"}
    refs = [{"name": f"r-{i}", "ownerKind": kinds[o]} for i, o in enumerate(owners)]
    item = ran("r", "00:50:00")
    item["podSets"][0]["assignments"] = [{"node": "a", "count": 2, "pods": refs}]
    found = values(question(NODES, [item], objectives=LOST), r=[])
    assert sum(found.values()) == 2 * lost


def test_pods_that_save_their_work_have_some_to_lose_whoever_makes_them() -> None:
    item = ran("r", "00:50:00") | {"lastCheckpointTime": "2026-01-01T00:55:00Z"}
    refs = [{"name": f"r-{i}", "ownerKind": "StatefulSet"} for i in range(2)]
    item["podSets"][0]["assignments"] = [{"node": "a", "count": 2, "pods": refs}]
    found = values(question(NODES, [item], objectives=LOST), r=[])
    assert sum(found.values()) == 2 * 600
