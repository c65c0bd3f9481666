"""Pods of JobSets go together where one of their Jobs fails with any of its pods."""

from __future__ import annotations

from typing import Any

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


def test_a_job_that_its_job_set_makes_anew_alone_is_a_unit_of_its_own() -> None:
    made = job_set(failurePolicy={"rules": [{"action": "RecreateJob"}]})
    pods = [*child("js-w-0", pods=2, backoffLimit=0), *child("js-w-1")]
    assert units(made, *pods) == {"js-w-0": ("all", True, 2), "js-w-1": ("single", True, 6)}


def test_a_job_set_that_is_not_in_the_input_ends_with_a_failed_job_and_is_noted() -> None:
    imported = read(node("a"), *two(backoffLimit=0))
    (found,) = imported.snapshot.jobs
    assert (found.disruption_mode, found.movable) == ("all", False)
    assert "default/js" in noted(imported, "JobSets that are not in the input")


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
