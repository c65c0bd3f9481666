"""Pods that go together: groups of a LeaderWorkerSet, training jobs that are never restarted."""

from __future__ import annotations

from typing import Any

from kantopt.problem.build import build_instance
from kantopt.problem.placement import Placement
from kantopt.schema.base import API_VERSION
from kantopt.schema.model import Model, Rule
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.verify.rules import check
from tests.formats.cluster_objects import node, noted, pod, read, thing

LWS = "leaderworkerset.sigs.k8s.io"


def group(index: int, pods: int = 3) -> list[dict[str, Any]]:
    """A leader of a set ``serve`` and its workers, each on a node."""
    found = []
    for i in range(pods):
        name = f"serve-{index}" if i == 0 else f"serve-{index}-{i}"
        owner = "StatefulSet/serve" if i == 0 else f"StatefulSet/serve-{index}"
        labels = {f"{LWS}/name": "serve", f"{LWS}/group-index": str(index)}
        found.append(pod(name, on="a", owner=owner, labels=labels))
    return found


def leaders(policy: str) -> dict[str, Any]:
    return thing(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "serve",
        leaderWorkerTemplate={"restartPolicy": policy},
    )


def jobs_of(*objects: dict[str, Any]) -> dict[str, str]:
    """Disruption mode by name of each job."""
    return {job.name: job.disruption_mode for job in read(node("a"), *objects).snapshot.jobs}


def without(snapshot: ClusterSnapshot, gone: int) -> list[str]:
    """What the judge says of evicting some pods of the first job."""
    model = Model(api_version=API_VERSION, kind="Model", objectives=("unplaced",))
    instance = build_instance(snapshot, (), model)
    changes = {}
    for s in instance.jobs[0].podsets:
        spots = dict(instance.current.podsets[s])
        for spot in list(spots):
            taken = min(gone, spots[spot])
            spots[spot] -= taken
            gone -= taken
        changes[s] = spots
    final: Placement = instance.current.replace(changes)
    return [str(v) for v in check(instance, final) if v.rule is Rule.GANG_VICTIMS]


def test_a_group_of_a_leader_worker_set_is_one_job_that_goes_as_a_whole() -> None:
    assert jobs_of(*group(0), *group(1)) == {"serve-0": "all", "serve-1": "all"}
    snapshot = read(node("a"), *group(0)).snapshot
    (found,) = snapshot.jobs
    assert (found.preemptible, found.movable) == (True, True)
    assert found.max_moves_at_once is None  # all are made anew at once, not one by one
    assert without(snapshot, 1)
    assert without(snapshot, 3) == []


def test_pods_of_a_leader_worker_set_that_restarts_them_one_by_one_are_no_unit() -> None:
    assert jobs_of(leaders("None"), *group(0)) == {"serve": "single", "serve-0": "single"}
    assert jobs_of(leaders("RecreateGroupOnPodRestart"), *group(0)) == {"serve-0": "all"}


def test_a_training_job_that_is_never_restarted_ends_as_a_whole() -> None:
    for policy, mode in (("Never", "all"), ("OnFailure", "single")):
        pods = [pod(f"w{i}", on="a", owner="PyTorchJob/p", restartPolicy=policy) for i in range(2)]
        assert jobs_of(*pods) == {"p": mode}
        (found,) = read(node("a"), *pods).snapshot.jobs
        assert found.movable is (policy == "OnFailure")


def mpi(restarts: str, launcher_owner: str) -> list[dict[str, Any]]:
    """The launcher of an MPIJob ``m`` and two workers."""
    prefix = "training.kubeflow.org"
    return [
        pod(
            f"m-{role}-{i}",
            on="a",
            owner=owner,
            labels={f"{prefix}/job-name": "m", f"{prefix}/job-role": role},
            restartPolicy=policy,
        )
        for role, owner, policy, i in (
            ("launcher", launcher_owner, "OnFailure", 0),
            ("worker", "MPIJob/m", restarts, 0),
            ("worker", "MPIJob/m", restarts, 1),
        )
    ]


def test_the_launcher_of_an_mpi_job_goes_with_its_workers_and_is_not_moved() -> None:
    for owner in ("Job/m-launcher", "MPIJob/m"):
        for policy in ("Never", "OnFailure"):
            (found,) = read(node("a"), *mpi(policy, owner)).snapshot.jobs
            assert (found.name, found.disruption_mode) == ("m", "all")
            # What goes together moves whole or not at all: one that stays keeps all.
            movable = [found.movable and podset.movable is not False for podset in found.pod_sets]
            assert not all(movable)
    lifted = read(node("a"), *mpi("OnFailure", "Job/m-launcher"), disturb=("group",)).snapshot.jobs
    assert {found.disruption_mode for found in lifted} == {"single"}


def test_a_training_job_whose_operator_makes_pods_anew_loses_them_one_by_one() -> None:
    roles = ("master", "worker")
    labels = [{"training.kubeflow.org/replica-type": role} for role in roles]
    pods = [
        pod(f"p-{i}", on="a", owner="PyTorchJob/p", labels=each, restartPolicy="OnFailure")
        for i, each in enumerate(labels)
    ]
    (found,) = read(node("a"), *pods).snapshot.jobs
    assert (found.disruption_mode, found.movable) == ("single", True)


def volcano(policies: list[dict[str, Any]], tasks: list[dict[str, Any]], **status: Any) -> Any:
    """A Job of Volcano's, and two pods of its task ``w``."""
    told = thing("batch.volcano.sh/v1alpha1", "Job", "v", policies=policies, tasks=tasks)
    found = [pod(f"v-w-{i}", on="a", owner="Job/v", restartPolicy="Never") for i in range(2)]
    for each in found:
        each["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1"
        each["metadata"]["labels"]["volcano.sh/job-name"] = "v"
        each["metadata"]["annotations"]["volcano.sh/task-spec"] = "w"
    return [{**told, "status": status}, *found]


RESTART = [{"event": "PodEvicted", "action": "RestartJob"}]


def moves(policies: list[dict[str, Any]], *own: dict[str, Any], **status: Any) -> tuple[str, bool]:
    """Disruption mode of such a Job, and whether it is moved."""
    tasks = [{"name": "w", "replicas": 2, "policies": [*own]}]
    (found,) = read(node("a"), *volcano(policies, tasks, **status)).snapshot.jobs
    return found.disruption_mode, found.movable


def test_a_job_of_volcano_goes_as_its_policies_say_of_an_evicted_pod() -> None:
    assert moves([]) == ("single", True)
    assert moves([{"event": "PodFailed", "action": "RestartJob"}]) == ("single", True)
    assert moves(RESTART) == ("all", True)
    assert moves([{"events": ["PodFailed", "*"], "action": "RestartJob"}]) == ("all", True)
    assert moves([{"event": "PodEvicted", "action": "AbortJob"}]) == ("all", False)
    assert moves([{"event": "PodEvicted", "action": "RestartTask"}]) == ("all", False)


def test_a_task_of_volcano_says_before_its_job_what_becomes_of_an_evicted_pod() -> None:
    assert moves(RESTART, {"event": "PodEvicted", "action": "RestartPod"}) == ("single", True)
    assert moves([], *RESTART) == ("all", True)


def test_a_job_of_volcano_that_has_been_restarted_often_enough_ends_and_stays() -> None:
    assert moves(RESTART, retryCount=1) == ("all", True)
    assert moves(RESTART, retryCount=2) == ("all", False)


def test_a_task_of_one_pod_that_volcano_makes_anew_goes_alone() -> None:
    tasks = [{"name": "w", "replicas": 1}]
    policies = [{"event": "PodEvicted", "action": "RestartTask"}]
    (found,) = read(node("a"), *volcano(policies, tasks)[:2]).snapshot.jobs
    assert (found.disruption_mode, found.movable) == ("single", True)


def test_a_job_of_volcano_that_is_not_in_the_input_is_noted() -> None:
    imported = read(node("a"), *volcano([], [])[1:])
    text = "Jobs of Volcano's that are not in the input bear the loss of any of their pods: 2"
    assert f"{text} (default/v, ...)" in imported.notes


def test_a_job_of_volcano_has_no_backoff_limit() -> None:
    pods = volcano([], [{"name": "w", "replicas": 2}])
    pods += [
        {**pods[-1], "metadata": {**pods[-1]["metadata"], "name": f"v-w-{i}", "uid": f"u{i}"}}
        for i in range(2, 9)
    ]
    imported = read(node("a", cpu="64"), *pods)
    (found,) = imported.snapshot.jobs
    assert found.max_moves is None
    assert not [line for line in imported.notes if "backoffLimit" in line]
    kinds = {ref.owner_kind for item in found.pod_sets[0].assignments for ref in item.pods}
    assert kinds == {"Job.batch.volcano.sh"}


def test_of_a_unit_the_most_important_pod_decides_who_may_evict_it() -> None:
    leader, worker = group(0, 2)
    leader["spec"] |= {"priority": 100, "preemptionPolicy": "Never"}
    worker["spec"] |= {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
    for objects in ([leader, worker], [worker, leader]):
        imported = read(node("a"), *objects)
        (found,) = imported.snapshot.jobs
        assert (found.name, found.priority, found.disruption_mode) == ("serve-0", 100, "all")
        assert "1 (default/serve-0)" in noted(imported, "that go together and are of several")
    pods = [
        pod(f"w{i}", on="a", owner="PyTorchJob/p", restartPolicy="Never", priority=i)
        for i in range(2)
    ]
    assert [(found.name, found.priority) for found in read(node("a"), *pods).snapshot.jobs] == [
        ("p", 1)
    ]


def test_a_pod_of_a_unit_that_waits_evicts_by_its_own_priority() -> None:
    leader, worker = group(0, 2)
    leader["spec"] |= {"priority": 100}
    worker["spec"] |= {"priority": 0, "nodeName": ""}
    imported = read(node("a"), leader, worker)
    assert [found.priority for found in imported.snapshot.jobs] == [100]
    assert [found.priority for found in imported.pending.jobs] == [0]


def test_a_unit_of_which_some_pods_are_in_a_gang_is_one_job_of_that_gang() -> None:
    group_of = {"scheduling.x-k8s.io/pod-group": "pg"}
    leader, worker = group(0, 2)
    worker["metadata"]["labels"] |= group_of
    pg = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "pg", minMember=1)
    assert jobs_of(pg, leader, worker) == {"pg": "all"}
    worker["spec"]["nodeName"] = ""
    assert jobs_of(pg, leader, worker) == {"serve-0": "all"}  # what waits restarts with nobody


def test_a_unit_whose_pods_are_in_several_gangs_stays_with_each() -> None:
    pods = group(0, 3)
    for made, name in zip(pods[1:], ("g1", "g2"), strict=True):
        made["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = name
    assert set(jobs_of(*pods)) == {"serve-0", "g1", "g2"}
