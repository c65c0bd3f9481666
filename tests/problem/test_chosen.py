"""What of the documents a model asks about."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.chosen import considered, is_exempt
from kantopt.schema.jobs import Job, JobList
from kantopt.schema.snapshot import ClusterSnapshot
from tests.questions import document, model


def jobs_of(*jobs: dict[str, Any]) -> tuple[Job, ...]:
    found: JobList = document({"kind": "JobList", "jobs": list(jobs)}, JobList)
    return found.jobs


HALF = {
    "name": "half",
    "namespace": "a",
    "podSets": [
        {"name": "on", "count": 4, "minCount": 3, "assignments": [{"node": "n", "count": 2}]},
        {"name": "off", "count": 2},
    ],
}
WAITS = {"name": "waits", "namespace": "a", "podSets": [{"count": 1}]}
RUNS = {"name": "runs", "namespace": "b", "podSets": [{"count": 1, "assignments": [{"node": "n"}]}]}


def test_of_jobs_that_are_not_asked_for_only_what_runs_is_left() -> None:
    jobs = jobs_of(HALF, WAITS, RUNS)
    assert considered(jobs, None) == jobs
    half, runs = considered(jobs, [])
    assert runs == jobs[2]
    (podset,) = half.pod_sets
    assert (podset.name, podset.count, podset.min_count) == ("on", 2, 2)


@pytest.mark.parametrize(
    ("patterns", "whole"),
    [(["half"], {"half"}), (["a/*"], {"half", "waits"}), (["b/*"], set()), (["wait?"], {"waits"})],
)
def test_patterns_are_of_names_with_or_without_namespace(
    patterns: list[str], whole: set[str]
) -> None:
    jobs = jobs_of(HALF, WAITS, RUNS)
    found = {job.name: job for job in considered(jobs, patterns)}
    assert {job.name for job in jobs if found.get(job.name) == job} - {"runs"} == whole


@pytest.mark.parametrize(
    ("selector", "exempt"),
    [("app=db", True), ("app", True), ("app=", False), ("app=web", False), ("ap", False)],
)
def test_labels_exempt_by_key_or_by_value(selector: str, exempt: bool) -> None:
    assert is_exempt({"app": "db"}, [selector]) is exempt


def test_exempt_pods_and_daemons_are_neither_moved_nor_evicted() -> None:
    def job(name: str, **more: Any) -> dict[str, Any]:
        podset = {"count": 1, "labels": {"app": name}, "assignments": [{"node": "n"}]}
        return {"name": name, "podSets": [podset], **more}

    jobs = [job("db"), job("web"), job("agent", daemon=True)]
    data = {"kind": "ClusterSnapshot", "nodes": [{"name": "n"}], "jobs": jobs}
    snapshot: ClusterSnapshot = document(data, ClusterSnapshot)
    asked = model("nodes_in_use", exempt=["app=db"])
    podsets = build_instance(snapshot, (), asked).podsets
    assert [p.movable or p.preemptible for p in podsets] == [False, True, False]
    assert [p.daemon for p in podsets] == [False, False, True]


def test_a_required_job_that_is_not_asked_for_is_left_aside() -> None:
    snapshot = {"kind": "ClusterSnapshot", "nodes": [{"name": "n", "allocatable": {"cpu": 4}}]}
    jobs = jobs_of(WAITS, {"name": "other", "podSets": [{"count": 1}]})
    wanted = model("moves", required=["waits", "other"], pending=["other"])
    instance = build_instance(document(snapshot, ClusterSnapshot), jobs, wanted)
    assert [instance.jobs[j].name for j in sorted(instance.required)] == ["default/other"]


def test_a_budget_counts_pods_that_wait_whether_they_are_asked_for_or_not() -> None:
    labels = {"app": "db"}
    running = {"count": 4, "labels": labels, "assignments": [{"node": "n", "count": 3}]}
    budget = {"name": "b", "selector": {"matchLabels": labels}, "minAvailable": "50%"}
    snapshot = {
        "kind": "ClusterSnapshot",
        "nodes": [{"name": "n", "allocatable": {"cpu": 4}}],
        "jobs": [{"name": "db", "podSets": [running]}],
        "podDisruptionBudgets": [budget],
    }
    jobs = jobs_of({"name": "more", "podSets": [{"count": 1, "labels": labels}]})
    allowed = [
        build_instance(document(snapshot, ClusterSnapshot), jobs, model("moves", pending=pending))
        .budgets[0]
        .allowed
        for pending in (None, [], ["db"], ["more"])
    ]
    assert allowed == [0, 0, 0, 0]
