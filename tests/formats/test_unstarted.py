"""Volcano's Jobs that have no pods yet wait like those that have."""

from __future__ import annotations

from typing import Any

from tests.formats.cluster_objects import Object, node, pod, read, thing

NODES = [node("a"), node("b")]


def template(cpu: str = "1") -> Object:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}


def volcano_job(phase: str = "Pending", **spec: Any) -> Object:
    tasks = [
        {"name": "master", "replicas": 1, "template": template()},
        {"name": "worker", "replicas": 4, "minAvailable": 2, "template": template("2")},
    ]
    made = thing("batch.volcano.sh/v1alpha1", "Job", "train", tasks=tasks, **spec)
    made["metadata"]["uid"] = "u1"
    return {**made, "status": {"state": {"phase": phase}}}


def test_a_job_without_pods_waits_with_its_tasks_as_roles() -> None:
    found = read(*NODES, volcano_job(queue="")).pending.jobs
    assert [(job.name, job.min_count) for job in found] == [("train", 3)]
    assert [(s.name, s.count, s.min_count, s.requests["cpu"]) for s in found[0].pod_sets] == [
        ("master", 1, 1, 1),
        ("worker", 4, 2, 2),
    ]


def test_its_group_says_what_starts_together() -> None:
    group = thing("scheduling.volcano.sh/v1beta1", "PodGroup", "train-u1", minMember=4)
    found = read(*NODES, volcano_job(), group).pending.jobs
    assert [(job.name, job.min_count) for job in found] == [("train-u1", 4)]


def test_fewer_in_all_than_the_tasks_minima_come_to_leave_only_the_sum() -> None:
    found = read(*NODES, volcano_job(minAvailable=2)).pending.jobs[0]
    assert found.min_count == 2
    assert [s.min_count for s in found.pod_sets] == [None, None]


def test_a_job_that_has_pods_or_has_ended_is_not_counted_again() -> None:
    labels = {"volcano.sh/job-name": "train"}
    started = pod("train-master-0", owner="Job/train", labels=labels)
    assert len(read(*NODES, volcano_job(), started).pending.jobs[0].pod_sets[0].pods) == 1
    assert len(read(*NODES, volcano_job(), started).pending.jobs) == 1
    for phase in ("Completed", "Aborted", "Failed", "Terminated"):
        assert read(*NODES, volcano_job(phase)).pending.jobs == ()


def test_a_job_that_restarts_waits_while_its_pods_terminate() -> None:
    labels = {"volcano.sh/job-name": "train"}
    going = {"deletionTimestamp": "2026-01-01"}
    former = pod("train-master-0", on="a", owner="Job/train", labels=labels, metadata=going)
    (waits,) = read(*NODES, volcano_job("Restarting"), former).pending.jobs
    assert sum(podset.count for podset in waits.pod_sets) == 5
