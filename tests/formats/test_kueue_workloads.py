"""Pods of Kueue's Workloads are told by their owners: most bear no label of Kueue's."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest

from kantopt.problem.build import build_instance
from kantopt.render.kueue import workload_of
from kantopt.schema.extends import load_model
from tests.formats.cluster_objects import Object, job, node, noted, pod, read, thing

KUEUE = "kueue.x-k8s.io/v1beta2"
ADMITTED = {"admission": {"clusterQueue": "shared"}}


def queues() -> list[Object]:
    quota = {"name": "cpu", "nominalQuota": "4"}
    flavors = [{"name": "f", "resources": [quota]}]
    shared = thing(KUEUE, "ClusterQueue", "shared", "", resourceGroups=[{"flavors": flavors}])
    return [node("a"), shared, thing(KUEUE, "LocalQueue", "lq", clusterQueue="shared")]


def owned(made: Object, uid: str, *owners: str) -> Object:
    listed = [{"kind": "Any", "name": owner, "uid": owner, "controller": True} for owner in owners]
    made["metadata"] |= {"uid": uid, "ownerReferences": listed}
    return made


def podset() -> Object:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {"name": "main", "count": 2, "template": {"spec": {"containers": [container]}}}


def workload(name: str, owner: str, status: Object | None = None, **spec: Any) -> Object:
    made = thing(KUEUE, "Workload", name, **{"queueName": "lq", "podSets": [podset()], **spec})
    made = owned({**made, "status": status or {}}, f"uid-{name}", owner)
    made["metadata"]["ownerReferences"][0]["kind"] = "Job"
    return made


def test_pods_of_a_job_use_the_quota_of_the_queue_that_their_workload_names() -> None:
    pods = [pod(f"p{i}", on="a", owner="Job/train") for i in range(2)]
    found = read(*queues(), workload("w", "Job/train", ADMITTED), *pods)
    (running,) = found.snapshot.jobs
    assert (running.name, running.queue_name, running.pod_sets[0].min_count) == ("w", "shared", 2)
    assert running.pod_sets[0].labels == {"kueue.x-k8s.io/queue-name": "lq"}
    assert found.pending.jobs == ()


def test_what_stands_between_pods_and_the_submitted_job_is_gone_through() -> None:
    between = {
        "JobSet": owned(thing("batch/v1", "Job", "j"), "j", "set"),
        "TrainJob": owned(thing("jobset.x-k8s.io/v1alpha2", "JobSet", "s"), "set", "train"),
        "RayJob": owned(thing("ray.io/v1", "RayCluster", "r"), "r", "ray"),
    }
    deep = read(
        *queues(),
        *between.values(),
        workload("w", "train", ADMITTED),
        workload("v", "ray", ADMITTED),
        pod("p", on="a", owner="Job/j", metadata={"ownerReferences": _controller("Job", "j")}),
        pod("h", on="a", metadata={"ownerReferences": _controller("RayCluster", "r")}),
    )
    assert {running.name: running.queue_name for running in deep.snapshot.jobs} == {
        "w": "shared",
        "v": "shared",
    }
    # By this uid Kueue labels the Workload (kueue.x-k8s.io/job-uid).
    assert {running.name: running.uid for running in deep.snapshot.jobs} == {
        "w": "train",
        "v": "ray",
    }


def _controller(kind: str, uid: str) -> list[Object]:
    return [{"kind": kind, "name": uid, "uid": uid, "controller": True}]


def test_a_pod_whose_annotation_names_its_workload_is_in_the_queue_of_that() -> None:
    named = pod("p", on="a", owner="", annotations={"kueue.x-k8s.io/workload": "w"})
    found = read(*queues(), workload("w", "Job/other", ADMITTED), named)
    assert job(found.snapshot.jobs, "w").queue_name == "shared"


def test_a_job_that_was_preempted_waits_again_while_its_pods_terminate() -> None:
    going = pod("p", on="a", owner="Job/train", metadata={"deletionTimestamp": "2026-01-01"})
    found = read(*queues(), workload("w", "Job/train"), going)
    assert [(waits.name, waits.pod_sets[0].count) for waits in found.pending.jobs] == [("w", 2)]


def test_a_gated_pod_that_is_a_workload_of_its_own_counts_once() -> None:
    gated = pod("p", owner="ReplicaSet/app", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    objects = (*queues(), workload("w", "uid-p"), gated)
    by_workload = read(*objects)
    assert [waits.name for waits in by_workload.pending.jobs] == ["w"]
    assert not by_workload.held_back
    assert not any("gates" in line for line in by_workload.notes)
    assert [waits.name for waits in read(*objects, gated=True).pending.jobs] == ["app"]
    gated["spec"]["schedulingGates"].append({"name": "kantopt/hold"})
    assert read(*objects).held_back == {"default/app": 1}


def test_what_kueue_has_started_with_fewer_pods_keeps_all_that_it_was_given() -> None:
    given = {"name": "main", "count": 3, "flavors": {"cpu": "f"}}
    part = {"admission": {"podSetAssignments": [given]}}
    pods = [pod(f"p{i}", on="a", owner="Job/part") for i in range(3)]
    asked = [{**podset(), "count": 4, "minCount": 1}]
    found = read(*queues(), workload("part", "Job/part", part, podSets=asked), *pods)
    assert [role.min_count for job in found.snapshot.jobs for role in job.pod_sets] == [3]


def test_a_job_that_is_admitted_and_has_no_pods_yet_holds_its_quota_and_waits_for_room() -> None:
    finished = {**ADMITTED, "conditions": [{"type": "Finished", "status": "True"}]}
    going = pod("g", on="a", owner="Job/g", metadata={"deletionTimestamp": "2026-01-01"})
    given = {"name": "main", "count": 2, "flavors": {"cpu": "f"}}
    part = {"admission": {"podSetAssignments": [given]}}
    ended = {**ADMITTED, "reclaimablePods": [{"name": "main", "count": 2}]}
    found = read(
        *queues(),
        workload("held", "Job/held", ADMITTED),
        workload("part", "Job/part", part, podSets=[{**podset(), "count": 4, "minCount": 1}]),
        workload("done", "Job/done", ended),
        workload("ended", "Job/ended", finished),
        workload("stopping", "Job/g", ADMITTED),
        workload("asks", "Job/asks"),
        going,
    )
    noted(found, "none of their pods yet: these are planned for: 3 (default/held, ...)")
    waits = {
        item.name: (item.quota_reserved, item.preemption_policy, role.count, role.min_count)
        for item in found.pending.jobs
        for role in item.pod_sets
    }
    assert waits == {
        "held": (True, None, 2, 2),
        "part": (True, None, 2, 1),
        "asks": (False, "Never", 2, 2),
    }


def test_who_waits_for_an_admission_check_holds_its_quota_and_its_gated_pods_count_once() -> None:
    gated = pod("p", owner="ReplicaSet/app", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    found = read(*queues(), workload("w", "uid-p", ADMITTED), gated)
    assert [(waits.name, waits.quota_reserved) for waits in found.pending.jobs] == [("w", True)]
    assert not found.held_back


@pytest.mark.parametrize(
    ("kind", "status", "free"),
    [
        ("Job", {}, False),
        ("JobSet", {}, True),
        ("AppWrapper", {}, True),
        ("Job", {"clusterName": "east"}, True),
        ("Job", {"conditions": [{"type": "PodsReady", "status": "True"}]}, True),
    ],
)
def test_quota_whose_pods_may_run_unseen_counts_as_free_and_is_noted(
    kind: str, status: Object, free: bool
) -> None:
    held = workload("w", "owner", {**ADMITTED, **status})
    held["metadata"]["ownerReferences"][0]["kind"] = kind
    found = read(*queues(), held)
    assert (found.pending.jobs == ()) is free
    assert any("counts as free: 1 (default/w)" in note for note in found.notes) is free
    if kind == "JobSet":  # its Jobs are there, and none of them has pods
        between = owned(thing("batch/v1", "Job", "j"), "j", "owner")
        assert [waits.name for waits in read(*queues(), between, held).pending.jobs] == ["w"]


def test_who_is_admitted_keeps_to_the_flavor_that_it_was_given() -> None:
    given = queues()
    quota = {"name": "cpu", "nominalQuota": "4"}
    flavors = [{"name": name, "resources": [quota]} for name in "fg"]
    given[1]["spec"]["resourceGroups"] = [{"flavors": flavors}]
    kinds = [thing(KUEUE, "ResourceFlavor", name, "", nodeLabels={"kind": name}) for name in "fg"]
    one = {"podSetAssignments": [{"name": "main", "count": 2, "flavors": {"cpu": "g"}}]}
    found = read(*given, *kinds, workload("w", "Job/w", {"admission": one}))
    assert found.pending.jobs[0].pod_sets[0].node_selector == {"kind": "g"}
    assert [row.full_name for row in found.snapshot.queues[0].resources] == [
        "cpu [kind=f]",
        "cpu [kind=g]",
    ]


def test_that_a_queue_may_reclaim_from_jobs_of_any_priority_is_noted() -> None:
    def queue(name: str, **preemption: str) -> Object:
        made = thing(KUEUE, "ClusterQueue", name, "", resourceGroups=[], preemption=preemption)
        made["spec"]["cohortName"] = "all" if name < "c" else ""
        return made

    found = read(*(queue(name, reclaimWithinCohort="Any") for name in "ac"), queue("b"))
    assert noted(found, "may reclaim").endswith("only less important ones for them: 1 (a)")


@pytest.mark.parametrize(
    ("preemption", "cohort", "policy"),
    [
        ({}, "all", "Never"),
        ({"withinClusterQueue": "LowerPriority"}, "", None),
        ({"reclaimWithinCohort": "LowerPriority"}, "all", None),
        ({"reclaimWithinCohort": "LowerPriority"}, "", "Never"),
    ],
    ids=str,
)
def test_who_waits_for_kueue_evicts_nobody_where_its_queue_preempts_nobody(
    preemption: dict[str, str], cohort: str, policy: str | None
) -> None:
    given = queues()
    given[1]["spec"] |= {"preemption": preemption, "cohortName": cohort}
    waits = workload("w", "Job/waits", podSets=[{**podset(), "count": 200}])  # beyond its quota
    admitted, pods = (
        workload("v", "Job/runs", ADMITTED),
        [pod(f"p{i}", owner="Job/runs") for i in "01"],
    )
    found = read(*given, waits, admitted, *pods)
    policies = {item.name: item.preemption_policy for item in found.pending.jobs}
    assert policies == {"w": policy, "v": None}
    assert any("preempts nobody" in note for note in found.notes) is (policy == "Never")


def test_a_job_whose_pods_wait_though_it_is_admitted_holds_its_quota() -> None:
    pods = [pod("p0", on="a", owner="Job/train"), pod("p1", owner="Job/train")]
    others = [pod(q, on="a", owner="Job/runs") for q in ("q0", "q1")]
    others += [pod(r, owner="Job/asks") for r in "rs"]
    kept = {"w": "Job/train", "v": "Job/runs"}
    admitted = [workload(name, owner, ADMITTED) for name, owner in kept.items()]
    found = read(*queues(), *admitted, workload("u", "Job/asks"), *pods, *others)
    assert noted(found, "Kueue has admitted").endswith("hold their quota: 1 (default/p1)")
    jobs = (*found.snapshot.jobs, *found.pending.jobs)
    assert {item.name: item.quota_reserved for item in jobs} == {"w": True, "v": False, "u": False}


def test_a_workload_is_known_by_the_name_of_what_was_submitted() -> None:
    cluster = owned(thing("ray.io/v1", "RayCluster", "r"), "r", "ray")
    head = pod("h", on="a", metadata={"ownerReferences": _controller("RayCluster", "r")})
    objects = (*queues(), cluster, head, workload("v", "ray", ADMITTED), workload("w", "train"))
    assert read(*objects).known_as["default/ray"] == {"default/v"}
    assert read(*objects).known_as["default/train"] == {"default/w"}
    asked = read(*objects, workload("u", "other"), pending=["default/train"])
    assert [waits.name for waits in asked.pending.jobs] == ["w"]


@pytest.mark.parametrize(("boost", "priority"), [("-60", 40), ("5", 105), ("", 100), ("x", 100)])
def test_what_is_added_to_the_priority_of_a_workload_counts(boost: str, priority: int) -> None:
    boosted = workload("w", "Job/w", priority=100)
    boosted["metadata"]["annotations"] = {"kueue.x-k8s.io/priority-boost": boost}
    assert [waits.priority for waits in read(*queues(), boosted).pending.jobs] == [priority]


def placed(**assignment: Any) -> Object:
    given = {"name": "main", "count": 2, "topologyAssignment": assignment}
    return {"admission": {"clusterQueue": "shared", "podSetAssignments": [given]}}


RACKS = [node(name, {"rack": f"r{name}", "host": name}) for name in "bcd"]
ONE = {"levels": ["rack", "host"], "domains": [{"values": ["rb", "b"], "count": 2}]}
SLICE = {
    "domainCount": 2,
    "podCounts": {"universal": 1},
    "valuesPerLevel": [
        {"individual": {"prefix": "r", "roots": ["b", "c"]}},
        {"individual": {"roots": ["b", "c"]}},
    ],
}
SAME = {"domainCount": 1, "valuesPerLevel": [{"universal": "rb"}, {"universal": "b"}]}


@pytest.mark.parametrize(
    ("assignment", "nodes"),
    [
        (ONE, {"b"}),
        ({"levels": ["rack", "host"], "slices": [SLICE]}, {"b", "c"}),
        ({"levels": ["rack", "host"], "slices": [SAME]}, {"b"}),
        ({}, {"a", "b", "c", "d"}),
    ],
)
@pytest.mark.parametrize("started", [0, 1, 2])
def test_pods_that_kueue_has_placed_by_topology_wait_for_the_nodes_that_it_sends_them_to(
    assignment: Object, nodes: set[str], started: int
) -> None:
    gates = [{"name": "kueue.x-k8s.io/topology"}]
    gated = [pod(f"p{i}", owner="Job/train", schedulingGates=gates) for i in range(started)]
    runs = [pod("p1", on="b", owner="Job/train")] if started == 1 else []
    status = placed(**assignment)
    found = read(*queues(), *RACKS, workload("w", "Job/train", status), *gated, *runs)
    (made,) = (*found.snapshot.jobs, *found.pending.jobs)
    assert (made.waiting, made.running, made.quota_reserved) == (2 - len(runs), len(runs), True)
    assert found.held_back == {}
    instance = build_instance(found.snapshot, found.pending.jobs, load_model("mixed"))
    (waits,) = (item for item in instance.podsets if not item.running)
    assert {instance.nodes[n].name for n in waits.allowed} == nodes


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("gate", ["topology", "admission"])
def test_pods_that_are_a_workload_themselves_wait_once_kueue_has_admitted_them(
    gate: str, runs: bool
) -> None:
    gates = [{"name": f"kueue.x-k8s.io/{gate}"}]
    admitted = {"conditions": [{"type": "Admitted", "status": "True"}]}
    of_group = {"labels": {"kueue.x-k8s.io/pod-group-name": "w"}, "owner": ""}
    first = pod("p0", **of_group, **({"on": "b"} if runs else {"schedulingGates": gates}))
    made = workload("w", "uid-p0", placed(**ONE) | admitted)
    made["metadata"]["ownerReferences"] = [
        {"kind": "Pod", "name": name, "uid": f"uid-{name}"} for name in ("p0", "p1")
    ]
    found = read(*queues(), *RACKS, made, first, pod("p1", **of_group, schedulingGates=gates))
    (one,) = (*found.snapshot.jobs, *found.pending.jobs)
    assert (one.waiting, one.running, one.quota_reserved) == (2 - runs, int(runs), True)
    assert {ref.name for role in one.pod_sets for ref in role.refs} == {"p0", "p1"}


@pytest.mark.parametrize("known", [True, False])
def test_a_job_is_called_as_a_workload_only_where_that_is_known(known: bool) -> None:
    labels = {"kueue.x-k8s.io/podset": "main", "kueue.x-k8s.io/queue-name": "lq"}
    runs = pod("p", on="a", owner="Job/train", labels=labels)
    found = read(*queues(), *([workload("w", "Job/train", ADMITTED)] if known else []), runs)
    (made,) = found.snapshot.jobs
    assert workload_of(made) == (("w", "") if known else (None, ANY))


@pytest.mark.parametrize("how", ["owner", "annotation"])
def test_a_plan_knows_the_workload_of_pods_without_labels_of_kueue(how: str) -> None:
    more: dict[str, Any] = {"annotations": {"kueue.x-k8s.io/workload": "job-train-2c459"}}
    runs = pod("p", on="a", owner="Job/train", **(more if how == "annotation" else {}))
    found = read(*queues(), workload("job-train-2c459", "Job/train", ADMITTED), runs)
    (made,) = found.snapshot.jobs
    assert (made.workload, workload_of(made)) == ("job-train-2c459", ("job-train-2c459", ""))


def test_a_gang_that_somebody_else_names_is_not_called_as_its_workload() -> None:
    labels = {"kueue.x-k8s.io/podset": "main"}
    volcano = {"scheduling.k8s.io/group-name": "pg"}
    runs = pod("p", on="a", owner="Job/train", labels=labels, annotations=volcano)
    (made,) = read(*queues(), workload("w", "Job/train", ADMITTED), runs).snapshot.jobs
    assert (made.name, made.workload, workload_of(made)) == ("pg", "", (None, ANY))


def test_other_gates_hold_a_pod_that_kueue_has_placed() -> None:
    gates = [{"name": "kueue.x-k8s.io/topology"}, {"name": "example.org/images"}]
    held = pod("p0", owner="Job/train", schedulingGates=gates)
    runs = pod("p1", on="b", owner="Job/train")
    found = read(*queues(), *RACKS, workload("w", "Job/train", placed(**ONE)), held, runs)
    assert found.held_back == {"default/w": 1}


@pytest.mark.parametrize(
    ("phases", "reclaimed", "lacking"),
    [
        (["Running", "Running"], 0, 0),
        (["Running"], 0, 1),
        (["Running", "Failed"], 0, 1),
        (["Running", "Succeeded"], 0, 0),
        (["Running", "Succeeded"], 1, 0),
        (["Running"], 1, 0),
        (["Running", "Pending"], 0, 0),
    ],
)
def test_pods_that_a_job_is_yet_to_make_hold_the_quota_that_it_was_given(
    phases: list[str], reclaimed: int, lacking: int
) -> None:
    pods = [
        pod(f"p{i}", on="" if phase == "Pending" else "a", owner="Job/train")
        for i, phase in enumerate(phases)
    ]
    for made, phase in zip(pods, phases, strict=True):
        made["status"] |= {"phase": phase}
    status = {**ADMITTED, "reclaimablePods": [{"name": "main", "count": reclaimed}]}
    found = read(*queues(), workload("w", "Job/train", status), *pods)
    (running,) = found.snapshot.jobs
    bound = sum(phase in ("Running", "Pending") for phase in phases)
    assert sum(role.count for role in running.pod_sets) == bound + lacking
    assert running.quota_reserved is bool(lacking or "Pending" in phases)
    told = any("pods that are not there, or not again yet" in note for note in found.notes)
    assert told is bool(lacking)


def test_a_job_of_several_pod_sets_that_counts_though_it_is_held_back_is_noted_once() -> None:
    sets = [{**podset(), "name": name} for name in ("main", "other")]
    found = read(*queues(), workload("w", "Job/train", active=False, podSets=sets), gated=True)
    assert noted(found, "count though they are held").endswith(": 1 (default/w)")
