"""Pods of JobSets go together where one of their Jobs fails with any of its pods."""

from __future__ import annotations

from typing import Any

import pytest

import kantopt
from kantopt.formats.kubernetes import job_sets
from kantopt.formats.view import View
from tests.formats.cluster_objects import node, noted, pod, read, thing

SET = "jobset.sigs.k8s.io/jobset-name"
ROLE = "jobset.sigs.k8s.io/replicatedjob-name"


def owned(made: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    """The object with a controller."""
    owner = {"kind": kind, "name": name, "uid": f"{kind}/{name}", "controller": True}
    made["metadata"] |= {"ownerReferences": [owner]}
    return made


def job_set(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {**thing("jobset.x-k8s.io/v1alpha2", "JobSet", "js", **spec), "status": status or {}}


def child(name: str, pods: int = 1, role: str = "w", **spec: Any) -> list[dict[str, Any]]:
    """A Job of the JobSet ``js``, and its pods."""
    made = thing("batch/v1", "Job", name, **spec)
    made["metadata"] |= {"uid": f"Job/{name}", "labels": {SET: "js", ROLE: role}}
    return [
        owned(made, "JobSet", "js"),
        *(pod(f"{name}-{i}", on="a", owner=f"Job/{name}", labels={SET: "js"}) for i in range(pods)),
    ]


def two(**spec: Any) -> list[dict[str, Any]]:
    return [*child("js-w-0", **spec), *child("js-w-1", **spec)]


def units(*objects: dict[str, Any]) -> dict[str, tuple[str, bool, int | None]]:
    """Disruption mode, whether it moves, and how many moves it bears, by name of each job."""
    return {
        job.name: (job.disruption_mode, job.movable, job.max_moves)
        for job in read(node("a"), *objects).snapshot.jobs
    }


def test_a_job_set_is_made_anew_as_a_whole_where_its_jobs_bear_no_failure() -> None:
    made = job_set(failurePolicy={"maxRestarts": 3})
    assert units(made, *two(backoffLimit=0)) == {"js": ("all", True, 6)}


def test_a_job_set_whose_restarts_are_used_up_or_that_has_none_ends_and_stays() -> None:
    for made in (
        job_set(),
        job_set(failurePolicy={}),
        job_set({"restarts": 3}, failurePolicy={"maxRestarts": 3}),
        job_set(failurePolicy={"maxRestarts": 3, "rules": [{"action": "FailJobSet"}]}),
    ):
        assert units(made, *two(backoffLimit=0)) == {"js": ("all", False, 0)}
    counted = job_set(
        {"restarts": 5, "restartsCountTowardsMax": 2}, failurePolicy={"maxRestarts": 3}
    )
    assert units(counted, *two(backoffLimit=0)) == {"js": ("all", True, 2)}


def test_jobs_of_a_job_set_that_bear_failures_go_pod_by_pod() -> None:
    made = job_set(failurePolicy={"maxRestarts": 3})
    alone = ("single", True, 6)
    assert units(made, *two()) == {"js-w-0": alone, "js-w-1": alone}
    failing = child("js-d-0", backoffLimit=1)
    failing[0]["status"] = {"failed": 1}
    assert units(made, *two(), *failing) == {"js": ("all", True, 9)}
    failing[0]["status"]["conditions"] = [{"type": "Complete", "status": "True"}]
    assert units(made, *two(), failing[0]) == {"js-w-0": alone, "js-w-1": alone}


def test_the_first_rule_of_a_job_set_that_applies_says_what_a_failed_job_does() -> None:
    rules = [
        {"action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
        {"action": "FailJobSet", "targetReplicatedJobs": ["driver"]},
        {"action": "RestartJobSetAndIgnoreMaxRestarts"},
    ]
    made = job_set(failurePolicy={"maxRestarts": 0, "rules": rules})
    assert units(made, *two(backoffLimit=0)) == {"js": ("all", True, 2)}
    driver = child("js-d-0", role="driver", backoffLimit=0)
    assert units(made, *two(backoffLimit=0), *driver) == {"js": ("all", False, 0)}


@pytest.mark.parametrize("action", ["RestartJobAndIgnoreMaxRestarts", "RecreateJob"])
def test_a_job_that_its_job_set_makes_anew_alone_is_a_unit_of_its_own(action: str) -> None:
    made = job_set(failurePolicy={"rules": [{"action": action}]})
    pods = [*child("js-w-0", pods=2, backoffLimit=0), *child("js-w-1")]
    assert units(made, *pods) == {"js-w-0": ("all", True, 2), "js-w-1": ("single", True, 6)}


def test_a_job_is_made_anew_alone_as_often_as_all_restarts_that_count_leave() -> None:
    policy = {"maxRestarts": 6, "rules": [{"action": "RestartJob"}]}
    counts = [{"name": "w", "jobRestartsCountTowardsMax": [2, 0]}, {"name": "v"}]
    done = {"restarts": 9, "restartsCountTowardsMax": 1, "replicatedJobsStatus": counts}
    pods = [*child("js-w-0", pods=2, backoffLimit=0), *child("js-w-1")]
    found = units(job_set(done, failurePolicy=policy), *pods)
    assert found == {"js-w-0": ("all", True, 6), "js-w-1": ("single", True, 6)}
    counts[0]["jobRestartsCountTowardsMax"] = [2, 3]
    assert units(job_set(done, failurePolicy=policy), *pods) == {"js": ("all", False, 0)}


def test_workers_made_anew_alone_are_not_tied_to_a_leader_that_restarts_all_and_stays() -> None:
    rules = [{"action": "RestartJob", "targetReplicatedJobs": ["w"]}]
    made = job_set(failurePolicy={"maxRestarts": 3, "rules": rules})
    leader = child("js-l-0", role="leader", backoffLimit=0)
    assert units(made, *leader, *two(backoffLimit=0)) == {
        "js": ("all", False, 3),
        "js-w-0": ("all", True, 2),
        "js-w-1": ("all", True, 1),
    }


def test_jobs_made_anew_alone_share_the_restarts_that_are_left() -> None:
    policy = {"maxRestarts": 1, "rules": [{"action": "RestartJob"}]}
    found = units(job_set(failurePolicy=policy), *two(backoffLimit=0))
    assert found == {"js-w-0": ("all", True, 1), "js-w-1": ("all", True, 0)}


def test_restarts_that_count_and_are_not_told_are_none_where_some_do_not_count() -> None:
    for action, left in (("RestartJobSetAndIgnoreMaxRestarts", 3), ("FailJobSet", 0)):
        rules = [{"action": action, "onJobFailureReasons": ["PodFailurePolicy"]}]
        made = job_set({"restarts": 5}, failurePolicy={"maxRestarts": 3, "rules": rules})
        assert units(made, *two(backoffLimit=0)) == {"js": ("all", left > 0, 2 * left)}


def test_a_job_without_pods_that_run_ties_no_others() -> None:
    made = job_set(failurePolicy={"maxRestarts": 3})
    alone = {"js-w-0": ("single", True, 6), "js-w-1": ("single", True, 6)}
    suspended = child("js-d-0", pods=0, suspend=True, backoffLimit=0)
    assert units(made, *two(), *suspended) == alone
    for condition in ("FailureTarget", "SuccessCriteriaMet"):
        ending = child("js-d-0", backoffLimit=0)
        ending[0]["status"] = {"conditions": [{"type": condition, "status": "True"}]}
        assert set(units(made, *two(), *ending)) == {*alone, "js-d-0"}


def test_rules_about_messages_of_failures_say_nothing_of_evictions() -> None:
    rules = [
        {"action": "FailJobSet", "onJobFailureMessagePatterns": ["exit code 42"]},
        {"action": "RestartJobSet"},
    ]
    made = job_set(failurePolicy={"maxRestarts": 3, "rules": rules})
    assert units(made, *two(backoffLimit=0)) == {"js": ("all", True, 6)}


def test_jobs_of_a_job_set_that_wait_start_each_by_itself() -> None:
    def placed(name: str, *on: str) -> list[dict[str, Any]]:
        job, *pods = child(name, pods=len(on), backoffLimit=0, parallelism=2)
        for index, (each, where) in enumerate(zip(pods, on, strict=True)):
            each["spec"]["nodeName"] = where
            each["spec"]["containers"][0]["resources"] = {"requests": {"nvidia.com/gpu": "8"}}
            each["metadata"]["annotations"] = {
                "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack",
                "batch.kubernetes.io/job-completion-index": str(index),
            }
        return [job, *pods]

    imported = read(
        *map(node, "abcd"),
        job_set(failurePolicy={"maxRestarts": 3}),
        *placed("js-w-0", "a", "b"),
        *placed("js-w-1", ""),
        *placed("js-w-2", ""),
    )
    (runs,) = imported.snapshot.jobs
    assert (runs.name, runs.disruption_mode, runs.pod_sets[0].count) == ("js", "all", 2)
    plan = kantopt.plan(imported.snapshot, imported.pending, time_limit=20)
    assert {item.node for item in plan.assignments} == {"c", "d"}
    assert len({item.job for item in plan.assignments}) == 1


def test_jobs_of_a_job_set_that_wait_are_asked_for_by_its_name() -> None:
    jobs = [*child("js-w-0", backoffLimit=0), *child("js-w-1"), *child("js-w-2")]
    for each in jobs[3::2]:
        each["spec"]["nodeName"] = ""
    made = job_set(failurePolicy={"maxRestarts": 3})
    imported = read(node("a"), made, *jobs, pending=("default/js",))
    assert {job.name for job in imported.pending.jobs} == {"js-w-1", "js-w-2"}


def test_what_a_job_set_does_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = job_sets._action

    def counted(job_set: View, role: str, reason: str) -> str:
        asked.append(role)
        return real(job_set, role, reason)

    monkeypatch.setattr(job_sets, "_action", counted)
    jobs = [part for i in range(5) for part in child(f"js-w-{i}", pods=4, backoffLimit=0)]
    units(job_set(failurePolicy={"maxRestarts": 3}), *jobs)
    assert len(asked) == 5


def test_a_job_set_that_is_not_in_the_input_ends_with_a_failed_job_and_is_noted() -> None:
    imported = read(node("a"), *two(backoffLimit=0))
    (found,) = imported.snapshot.jobs
    assert (found.disruption_mode, found.movable) == ("all", False)
    assert noted(imported, "JobSets that are not in the input").endswith(
        ": add jobsets to kubectl get: 1 (default/js)"
    )


def test_pods_of_a_train_job_go_together_whatever_their_jobs_bear() -> None:
    made = owned(job_set(), "TrainJob", "js")
    assert units(made, *child("js-node-0", pods=2)) == {"js": ("all", True, 6)}
    lifted = read(node("a"), made, *child("js-node-0", pods=2), disturb=("group",))
    assert [job.disruption_mode for job in lifted.snapshot.jobs] == ["single"]
    pods = child("js-node-0", pods=2)[1:]
    for each in pods:
        each["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] = "trainer"
    assert units(*pods) == {"js": ("all", True, 6)}


def test_pods_of_a_job_set_that_restarts_in_place_go_together() -> None:
    made = job_set(failurePolicy={"maxRestarts": 3, "restartStrategy": "InPlaceRestart"})
    assert units(made, *child("js-w-0", pods=2)) == {"js": ("all", True, 6)}
