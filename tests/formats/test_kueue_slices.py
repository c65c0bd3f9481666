"""Workload slices: an elastic job that is to grow has a second Workload beside that which runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import Object, job, node, noted, pod, read, thing
from tests.formats.test_kueue_workloads import KUEUE

OLD = "kueue.x-k8s.io/workload-slice-replacement-for"
GATE = {"schedulingGates": [{"name": "kueue.x-k8s.io/elastic-job"}]}


def slice_of(
    name: str, count: int, given: int = 0, old: str = "", finished: bool = False
) -> Object:
    box = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    roles = [{"name": "main", "count": count, "template": {"spec": {"containers": [box]}}}]
    made = thing(KUEUE, "Workload", name, podSets=roles, queueName="lq")
    made["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "el", "uid": "Job/el"}]
    made["metadata"]["annotations"] = {OLD: f"default/{old}"} if old else {}
    status: dict[str, Any] = {}
    if given:
        status["admission"] = {"podSetAssignments": [{"name": "main", "count": given}]}
    if finished:
        status["conditions"] = [{"type": "Finished", "status": "True"}]
    return {**made, "status": status}


RUN = [pod(f"el-{i}", on="a", owner="Job/el") for i in range(3)]
WAIT = [pod(f"el-{i}", owner="Job/el", **GATE) for i in (3, 4)]
SLICES = [slice_of("one", 3, given=3), slice_of("two", 5, old="one")]


@pytest.mark.parametrize("items", [SLICES, SLICES[::-1]])
def test_what_runs_is_of_the_workload_that_is_admitted_and_what_is_to_come_is_held_back(
    items: list[Object],
) -> None:
    found = read(node("a"), *items, *RUN)
    assert [(item.name, item.workload, item.running) for item in found.snapshot.jobs] == [
        ("one", "one", 3)
    ]
    assert found.held_back == {"default/two": 2}
    assert "(default/two)" in noted(found, "held back until Kueue lets a job grow")
    assert not found.pending.jobs


def test_with_gates_a_job_that_is_to_grow_waits_with_the_pods_that_it_lacks() -> None:
    found = read(node("a"), *SLICES, *RUN, gated=True)
    assert job(found.pending.jobs, "two").pod_sets[0].count == 2
    assert not found.pending.jobs[0].quota_reserved


@pytest.mark.parametrize("gated", [False, True])
def test_pods_that_are_there_already_are_counted_once(gated: bool) -> None:
    found = read(node("a"), *SLICES, *RUN, *WAIT, gated=gated)
    assert found.held_back == ({} if gated else {"default/one": 2})
    assert not found.pending.jobs
    [own] = found.snapshot.jobs
    assert (own.running, own.waiting) == (3, 2 if gated else 0)
    assert not own.quota_reserved  # that of the smaller Workload is all in use


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_once_admitted_the_larger_one_has_all_pods(finished: bool, turned: bool) -> None:
    items = [slice_of("one", 3, 3, finished=finished), slice_of("two", 5, 5, old="one")]
    found = read(node("a"), *(items[::-1] if turned else items), *RUN)
    assert [item.workload for item in found.snapshot.jobs] == ["two"]
    assert found.held_back == {}
    assert found.snapshot.jobs[0].waiting == 2
