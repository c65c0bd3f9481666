"""Workloads that Kueue starts no more, by themselves or by their queues: held back, and counted."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.errors import UsageError
from kantopt.formats.imported import Imported
from tests.formats.cluster_objects import Object, node, noted, pod, read, thing
from tests.formats.test_kueue_workloads import ADMITTED, KUEUE, workload


def cluster(local: Object, whole: Object) -> list[Object]:
    """A node and two queues, with what is told of each."""
    spec, status = (whole.get(key, {}) for key in ("spec", "status"))
    queue = {**thing(KUEUE, "ClusterQueue", "whole", "", **spec), "status": status}
    named = thing(KUEUE, "LocalQueue", "lq", clusterQueue="whole", **local.get("spec", {}))
    return [node("a"), queue, {**named, "status": local.get("status", {})}]


def held_back(found: Imported, words: str) -> bool:
    """Whether the one job that waits is held back by something, and counted so."""
    held = not found.pending.jobs
    assert found.held_back == ({"default/w": 2} if held else {})
    assert any(f"held back {words}" in note for note in found.notes) is held
    assert all(f"held back {words}" in why for why in found.left_out.values())
    return held


STOPPED = {"spec": {"stopPolicy": "Hold"}}
DRAINED = {"spec": {"stopPolicy": "HoldAndDrain"}}
INACTIVE = {
    "status": {"conditions": [{"type": "Active", "status": "False", "reason": "FlavorNotFound"}]}
}


@pytest.mark.parametrize("told", [STOPPED, DRAINED, INACTIVE])
@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("gated", [False, True])
def test_what_waits_in_a_queue_that_takes_nobody_in_is_held_back(
    told: Object, local: bool, gated: bool
) -> None:
    """Kueue admits nobody there, whatever room there is; with --gated it is planned for."""
    queues = cluster(told, {}) if local else cluster({}, told)
    found = read(*queues, workload("w", "Job/train"), gated=gated)
    assert held_back(found, "by queues that are stopped") is not gated
    counted = any("count though they are held by queues that are" in note for note in found.notes)
    assert counted is gated


def test_queues_that_take_jobs_hold_nobody_back() -> None:
    told = {"spec": {"stopPolicy": "None"}, "status": {"conditions": [{"type": "Active"}]}}
    found = read(*cluster(told, told), workload("w", "Job/train"))
    assert not held_back(found, "")
    assert {job.full_name for job in found.pending.jobs} == {"default/w"}


@pytest.mark.parametrize(("told", "stays"), [(STOPPED, True), (INACTIVE, True), (DRAINED, False)])
def test_only_a_queue_that_is_drained_takes_back_what_was_admitted(
    told: Object, stays: bool
) -> None:
    found = read(*cluster({}, told), workload("w", "Job/train", ADMITTED))
    assert held_back(found, "by queues that are stopped") is not stays


def test_running_jobs_of_a_drained_queue_stay_and_it_is_told() -> None:
    pods = [pod(f"p{i}", on="a", owner="Job/train") for i in range(2)]
    found = read(*cluster({}, DRAINED), workload("w", "Job/train", ADMITTED), *pods)
    assert [job.full_name for job in found.snapshot.jobs] == ["default/w"]
    assert "(whole)" in noted(found, "HoldAndDrain")


@pytest.mark.parametrize("gated", [False, True])
def test_a_workload_that_its_user_stopped_is_held_back(gated: bool) -> None:
    found = read(*cluster({}, {}), workload("w", "Job/train", active=False), gated=gated)
    assert held_back(found, "by active: false") is not gated


@pytest.mark.parametrize(("status", "waits"), [("False", False), ("True", True)])
def test_a_workload_that_is_queued_again_later_is_held_back(status: str, waits: bool) -> None:
    """Kueue evicted it, say for pods that did not get ready, and it is in no queue for a while."""
    conditions = [{"type": "Requeued", "status": status, "reason": "PodsReadyTimeout"}]
    later = {"conditions": conditions, "requeueState": {"requeueAt": "2026-09-01T05:00:00Z"}}
    found = read(*cluster({}, {}), workload("w", "Job/train", later))
    assert held_back(found, "by Kueue after a failed start") is not waits


def test_of_two_pod_sets_that_are_held_back_one_job_is_told() -> None:
    template = workload("w", "Job/train")["spec"]["podSets"][0]
    sets: list[Any] = [{**template, "name": name} for name in ("lead", "work")]
    found = read(*cluster(STOPPED, {}), workload("w", "Job/train", podSets=sets))
    assert found.held_back == {"default/w": 4}
    assert "1 (default/w)" in noted(found, "held back")


@pytest.mark.parametrize("name", ["default/w", "default/Job/train"])
def test_asking_for_one_that_is_held_back_says_why(name: str) -> None:
    with pytest.raises(UsageError, match=r"held back by queues that are stopped.*--gated"):
        read(*cluster(STOPPED, {}), workload("w", "Job/train"), pending=[name])


@pytest.mark.parametrize("gated", [False, True])
def test_what_names_a_local_queue_that_is_not_there_is_held_back(gated: bool) -> None:
    """Kueue looks for that queue; a ClusterQueue of its name is none of its."""
    called_so = {**thing(KUEUE, "ClusterQueue", "lq", ""), "status": {}}
    found = read(node("a"), called_so, workload("w", "Job/train"), gated=gated)
    assert held_back(found, "by a LocalQueue that is not in the input") is not gated
    if gated:
        assert found.pending.jobs[0].queue_name == ""
        assert noted(found, "not in the input set no quota")
    admitted = read(node("a"), called_so, workload("w", "Job/train", ADMITTED))
    assert not held_back(admitted, "by a LocalQueue")


PROD = {"namespaceSelector": {"matchLabels": {"team": "prod"}}}
SHUT_OUT = "by queues that take nobody of their namespace (namespaceSelector)"


def namespace(**labels: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "default", "labels": labels},
    }


@pytest.mark.parametrize(
    ("selector", "held"),
    [
        (PROD, True),
        ({"namespaceSelector": None}, True),
        ({"namespaceSelector": {}}, False),
        ({"namespaceSelector": {"matchLabels": {"team": "test"}}}, False),
    ],
)
@pytest.mark.parametrize("gated", [False, True])
def test_what_waits_in_a_namespace_that_its_queue_does_not_take_is_held_back(
    selector: Object, held: bool, gated: bool
) -> None:
    """A queue without selector takes nobody."""
    queues = cluster({}, {"spec": selector})
    found = read(*queues, namespace(team="test"), workload("w", "Job/train"), gated=gated)
    assert held_back(found, SHUT_OUT) is (held and not gated)


def test_what_was_admitted_stays_so_whatever_namespaces_its_queue_takes() -> None:
    queues = cluster({}, {"spec": PROD})
    found = read(*queues, namespace(team="test"), workload("w", "Job/train", ADMITTED))
    assert not held_back(found, SHUT_OUT)


def test_without_namespaces_it_is_said_that_nobody_knows_whom_a_queue_takes() -> None:
    found = read(*cluster({}, {"spec": PROD}), workload("w", "Job/train"))
    assert [job.full_name for job in found.pending.jobs] == ["default/w"]
    assert "(default)" in noted(found, "whether queues take jobs of theirs")
    name = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}
    found = read(*cluster({}, {"spec": name}), workload("w", "Job/train"))
    assert held_back(found, SHUT_OUT)


MULTIKUEUE = "kueue.x-k8s.io/multikueue"
CHECK = thing(KUEUE, "AdmissionCheck", "mk", "", controllerName=MULTIKUEUE)
OTHER = thing(KUEUE, "AdmissionCheck", "mk", "", controllerName="kueue.x-k8s.io/provisioning")
BY_STRATEGY = {"admissionChecksStrategy": {"admissionChecks": [{"name": "mk"}]}}
OF_SOME = {"admissionChecksStrategy": {"admissionChecks": [{"name": "mk", "onFlavors": ["f"]}]}}


@pytest.mark.parametrize(
    ("spec", "status", "more", "elsewhere"),
    [
        ({"admissionChecks": ["mk"]}, {}, [CHECK], True),
        (BY_STRATEGY, {}, [CHECK], True),
        (BY_STRATEGY, ADMITTED, [CHECK], True),
        (BY_STRATEGY, {}, [OTHER], False),
        (OF_SOME, {}, [CHECK], False),
        (OF_SOME, {"admissionChecks": [{"name": "mk", "state": "Pending"}]}, [CHECK], True),
        ({}, {"nominatedClusterNames": ["far"]}, [], True),
        ({}, {}, [thing("batch/v1", "Job", "train", managedBy=MULTIKUEUE)], True),
        ({}, {}, [thing("batch/v1", "Job", "train", managedBy="example.org/other")], False),
    ],
)
def test_who_is_to_start_in_another_cluster_is_held_back(
    spec: Object, status: Object, more: list[Object], elsewhere: bool
) -> None:
    """The pods of what MultiKueue sends away are never made here."""
    for item in more:
        item["metadata"]["uid"] = "Job/train"
    given = workload("w", "Job/train", status)
    found = read(*cluster({}, {"spec": spec}), given, *more)
    assert held_back(found, "to be started in another cluster (MultiKueue)") is elsewhere


@pytest.mark.parametrize("far", [True, False])
def test_pods_that_run_in_another_cluster_keep_their_gates_here(far: bool) -> None:
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    status: Object = {**ADMITTED, "conditions": [{"type": "Admitted", "status": "True"}]}
    given = workload("w", "uid-p", status | ({"clusterName": "far"} if far else {}))
    given["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "p", "uid": "uid-p"}]
    given["spec"]["podSets"][0]["count"] = 1
    found = read(*cluster({}, {}), given, pod("p", owner="", schedulingGates=gates))
    assert len(found.pending.jobs) == (0 if far else 1)
