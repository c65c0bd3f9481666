"""Pods that are made once their leader has its node are planned for together with it."""

from __future__ import annotations

from typing import Any

import kantopt
from kantopt.schema.jobs import Job
from tests.formats.cluster_objects import node, noted, pod, read, thing

JOB_SET = "jobset.sigs.k8s.io"
LWS = "leaderworkerset.sigs.k8s.io"


def job(**spec: Any) -> dict[str, Any]:
    made = thing("batch/v1", "Job", "js-w-0", **spec)
    made["metadata"]["uid"] = "Job/js-w-0"
    return made


def first_of_job(on: str = "", **annotations: str) -> dict[str, Any]:
    """The first pod of a Job that has the racks of its pods for itself."""
    near = {"key": f"{JOB_SET}/job-key", "operator": "In", "values": ["h"]}
    term = {"topologyKey": "rack", "labelSelector": {"matchExpressions": [near]}}
    return pod(
        "js-w-0-0",
        on=on,
        owner="Job/js-w-0",
        labels={f"{JOB_SET}/jobset-name": "js", f"{JOB_SET}/job-key": "h"},
        annotations={
            "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack",
            "batch.kubernetes.io/job-completion-index": "0",
            **annotations,
        },
        requests={"nvidia.com/gpu": "8"},
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        priority=5,
    )


def needs(found: Job) -> list[tuple[int, int | None, int]]:
    """Pods, least pods and pods that exist of each pod set."""
    return [(podset.count, podset.min_count, len(podset.pods)) for podset in found.pod_sets]


def test_a_job_with_exclusive_placement_waits_for_room_for_all_of_its_pods() -> None:
    imported = read(node("a"), job(parallelism=3), first_of_job())
    (found,) = imported.pending.jobs
    assert needs(found) == [(3, None, 1)]
    assert "2 (default/js-w-0-0, ...)" in noted(imported, "planned for together with it")


def test_no_more_follow_than_are_left_to_be_completed() -> None:
    ending = job(parallelism=4, completions=4)
    ending["status"] = {"succeeded": 3}
    (found,) = read(node("a"), ending, first_of_job()).pending.jobs
    assert needs(found) == [(1, 0, 1)]
    (found,) = read(node("a"), job(parallelism=4, completions=2), first_of_job()).pending.jobs
    assert needs(found) == [(2, None, 1)]


def test_a_leader_goes_where_its_followers_find_room() -> None:
    racks = {"a": "r0", "b": "r1", "c": "r1"}
    nodes = [node(name, {"rack": rack}) for name, rack in racks.items()]
    imported = read(*nodes, job(parallelism=2), first_of_job())
    plan = kantopt.plan(imported.snapshot, imported.pending, time_limit=20)
    assert {item.node for item in plan.assignments} == {"b", "c"}


def test_only_the_first_pod_that_waits_is_followed() -> None:
    labelled = {"alpha.jobset.sigs.k8s.io/node-selector": "true"}
    other = {"batch.kubernetes.io/job-completion-index": "1"}
    for leader in (first_of_job(**labelled), first_of_job(**other)):
        assert needs(read(node("a"), job(parallelism=3), leader).pending.jobs[0]) == [(1, 0, 1)]
    running = read(node("a"), job(parallelism=3), first_of_job(on="a"))
    assert sum(podset.count for podset in running.snapshot.jobs[0].pod_sets) == 1
    assert running.pending.jobs == ()


def test_followers_of_which_nothing_is_known_are_noted() -> None:
    imported = read(node("a"), first_of_job())
    assert needs(imported.pending.jobs[0]) == [(1, 0, 1)]
    assert "1 (default/js-w-0-0)" in noted(imported, "that follow leaders that wait")


def leader(**annotations: str) -> dict[str, Any]:
    labels = {f"{LWS}/name": "s", f"{LWS}/group-index": "0", f"{LWS}/worker-index": "0"}
    near = {"topologyKey": "rack", "labelSelector": {"matchLabels": {f"{LWS}/group-index": "0"}}}
    return pod(
        "s-0",
        owner="StatefulSet/s",
        labels=labels,
        annotations=annotations,
        requests={"cpu": "2"},
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}},
    )


def groups(**template: Any) -> dict[str, Any]:
    return thing(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "s",
        leaderWorkerTemplate={"size": 4, **template},
    )


WORKER = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def test_workers_of_a_leader_that_waits_wait_with_it_by_their_template() -> None:
    (found,) = read(node("a"), groups(workerTemplate=WORKER), leader()).pending.jobs
    assert (found.name, needs(found)) == ("s-0", [(1, None, 1), (3, None, 0)])
    assert [podset.requests["cpu"] for podset in found.pod_sets] == [2, 1]
    assert [len(podset.pod_affinity) for podset in found.pod_sets] == [1, 0]


def test_workers_come_into_the_domain_that_a_leader_has_for_itself() -> None:
    placed = leader(**{f"{LWS}/exclusive-topology": "rack"})
    (found,) = read(node("a"), groups(workerTemplate=WORKER), placed).pending.jobs
    assert [len(podset.pod_affinity) for podset in found.pod_sets] == [1, 1]


def test_workers_without_a_template_are_noted_with_their_number() -> None:
    for objects in ((groups(), leader()), (leader(**{f"{LWS}/size": "4"}),)):
        imported = read(node("a"), *objects)
        assert needs(imported.pending.jobs[0]) == [(1, 0, 1)]
        assert "3 (default/s-0, ...)" in noted(imported, "that follow leaders that wait")
