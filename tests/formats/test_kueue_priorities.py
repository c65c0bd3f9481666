"""Kueue goes by the priority of a Workload, kube-scheduler by that of its pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import Object, pod
from tests.formats.test_kueue_preemption import (
    GPU,
    LOWER,
    MIXED,
    asked,
    evicted,
    placed,
    queue,
    runs,
    waits,
)

CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 500}
CLASS |= {"metadata": {"name": "some"}}


def job(name: str, workload: int, pods: int, on: str = "a", gpus: int = 8) -> list[Object]:
    """A job that Kueue has admitted to queue a, and its pod: it runs or waits for a node."""
    made = waits(f"job-{name}", "a", gpus, workload)
    made["metadata"]["ownerReferences"] = [{"kind": "Job", "name": name, "uid": f"Job/{name}"}]
    given: dict[str, Any] = {"name": "main", "count": 1, "flavors": {GPU: "f"}}
    made["status"] = {"admission": {"clusterQueue": "a", "podSetAssignments": [given]}}
    asks = {GPU: str(gpus)}
    return [made, pod(name, on=on, owner=f"Job/{name}", requests=asks, priority=pods)]


def service(name: str, priority: int, on: str = "a") -> Object:
    return runs(name, "", 8, priority, on)


def test_pods_that_exist_evict_by_their_own_priority_and_not_by_that_of_their_workload() -> None:
    waiting = job("r", 1000, 0, on="")
    assert evicted(queue("a", 8), service("s", 500), waiting) == set()
    assert evicted(queue("a", 8), service("s", 500), job("r", 0, 1000, on="")) == {"s"}
    assert "kube-scheduler by theirs: 1 (default/r)" in str(asked(queue("a", 8), waiting).notes)


@pytest.mark.parametrize(
    ("workload", "pods", "gone"), [(0, 1000, set()), (1000, 0, {"job-r"}), (0, 0, {"job-r"})]
)
def test_kube_scheduler_evicts_pods_of_a_job_by_their_own_priority(
    workload: int, pods: int, gone: set[str]
) -> None:
    mid = service("mid", 500, on="")
    assert evicted(queue("a", 8), job("r", workload, pods), mid) == gone


@pytest.mark.parametrize(("workload", "pods", "gone"), [(0, 9, {"job-r"}), (9, 0, set())])
def test_kueue_evicts_a_job_by_the_priority_of_its_workload(
    workload: int, pods: int, gone: set[str]
) -> None:
    items = [queue("a", 8, withinClusterQueue=LOWER), job("r", workload, pods)]
    assert evicted(*items, waits("w", "a", 8, 5)) == gone


def test_among_what_kube_scheduler_evicts_kueue_spares_what_is_too_important_to_it() -> None:
    items = [queue("a", 8, withinClusterQueue=LOWER), job("r", 9, 0)]
    both = [*items, waits("w", "a", 8, 5), service("mid", 4, on="")]
    assert placed(MIXED, *both) == {"mid"}


def test_what_kueue_lets_go_evicts_pods_of_no_queue_by_the_priority_of_its_pods() -> None:
    """Kueue stops none of them; kube-scheduler does, once the pods are there."""
    wanted = waits("w", "a", 8, 1000)
    items = [CLASS, queue("a", 8, withinClusterQueue=LOWER), service("s", 400)]
    assert evicted(*items, wanted) == set()
    wanted["spec"]["podSets"][0]["template"]["spec"]["priorityClassName"] = "some"
    assert evicted(*items, wanted) == {"s"}


def test_priorities_that_only_classes_tell_which_are_not_there_are_the_workload_s() -> None:
    wanted = waits("w", "a", 8, 1000)
    assert evicted(queue("a", 8, withinClusterQueue=LOWER), service("s", 400), wanted) == {"s"}
