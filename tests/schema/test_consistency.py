"""Contradictions that no type can exclude; the malformed corpus shows their messages."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.schema.answers.plan import Plan
from kantopt.schema.consistency import check_model, check_plan, check_snapshot
from kantopt.schema.job_consistency import check_jobs
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate

VERSION = {"apiVersion": "kantopt/v1alpha1"}
CLUSTER = {
    "topology": {"levels": [{"name": "rack", "nodeLabel": "example/rack"}]},
    "nodes": [
        {
            "name": "n1",
            "devices": [
                {"class": "gpu", "count": 2, "capacity": {"gpu": 1}},
                {"class": "numa", "count": 2, "capacity": {"cpu": 8}},
            ],
        }
    ],
}


def snapshot(**data: Any) -> ClusterSnapshot:
    raw = {**VERSION, "kind": "ClusterSnapshot", **CLUSTER, **data}
    return validate(RawDocument("f", 0, raw), ClusterSnapshot)


def job_paths(cluster: ClusterSnapshot | None, pods: dict[str, Any], **job: Any) -> list[str]:
    data = {
        **VERSION,
        "kind": "JobList",
        "jobs": [{"name": "a", "podSets": [{"count": 4, **pods}], **job}],
    }
    document = validate(RawDocument("f", 0, data), JobList)
    return [problem.path for problem in check_jobs(document.jobs, cluster, "f")]


def test_sound_jobs_have_no_problems() -> None:
    pods = {
        "minCount": 4,
        "requests": {"cpu": "500m", "memory": "1.5Gi", "nvidia.com/gpu": 8},
        "devices": [{"class": "gpu", "requests": {"gpu": "500m"}}],
        "topologyRequest": {"podSetSliceRequiredTopology": "example/rack", "podSetSliceSize": 2},
        "assignments": [{"node": "n1", "count": 2, "devices": [3, 0]}],
        "pods": [{"name": "p"}, {"name": "q"}],
    }
    request = {"required": "rack"}
    assert job_paths(snapshot(), pods, minCount=4, topologyRequest=request) == []


def test_names_of_the_cluster_are_not_checked_without_it() -> None:
    pods = {"assignments": [{"node": "elsewhere", "devices": [99]}]}
    request = {"required": "row"}
    assert job_paths(None, pods, queueName="q", topologyRequest=request) == []


def test_queues_and_classes_are_checked_only_where_some_are_listed() -> None:
    names = {"queueName": "q", "priorityClassName": "p"}
    assert job_paths(snapshot(), {}, **names) == []
    listed = snapshot(queues=[{"name": "other"}], priorityClasses=[{"name": "other", "value": 1}])
    assert job_paths(listed, {}, **names) == ["jobs[0].queueName", "jobs[0].priorityClassName"]


@pytest.mark.parametrize(
    ("pods", "path"),
    [
        ({"minCount": 5}, "minCount"),
        ({"assignments": [{"node": "n2"}]}, "assignments[0].node"),
        ({"assignments": [{"node": "n1", "devices": [4]}]}, "assignments[0].devices[0]"),
        ({"assignments": [{"node": "n1", "devices": [1, 1]}]}, "assignments[0].devices[1]"),
        ({"assignments": [{"node": "n1", "count": 5}]}, "assignments"),
        ({"assignments": [{"node": "n1", "pods": [{"name": "a"}] * 2}]}, "assignments[0].pods"),
        ({"pods": [{"name": "a"}] * 5}, "pods"),
        ({"requests": {"nvidia.com/gpu": "1.5"}}, 'requests["nvidia.com/gpu"]'),
        ({"requests": {"pods": "500m"}}, "requests.pods"),
        ({"devices": [{"class": "x", "requests": {"y": "1m"}}]}, "devices[0].requests.y"),
        ({"topologyRequest": {"required": "row"}}, "topologyRequest.required"),
        ({"topologyRequest": {"preferred": "row"}}, "topologyRequest.preferred"),
        (
            {"topologyRequest": {"podSetSliceSize": 2}},
            "topologyRequest.podSetSliceRequiredTopology",
        ),
        (
            {"topologyRequest": {"podSetSliceRequiredTopology": "rack"}},
            "topologyRequest.podSetSliceSize",
        ),
        (
            {"topologyRequest": {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 3}},
            "topologyRequest.podSetSliceSize",
        ),
    ],
)
def test_one_contradiction_in_a_pod_set_is_one_problem(pods: dict[str, Any], path: str) -> None:
    assert job_paths(snapshot(), pods) == [f"jobs[0].podSets[0].{path}"]


def test_a_job_cannot_want_more_pods_than_its_pod_sets_have() -> None:
    assert job_paths(None, {}, minCount=5) == ["jobs[0].minCount"]


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"nodes": [{"name": "a"}, {"name": "a"}]}, "nodes[1].name"),
        (
            {"nodes": [{"name": "a", "allocatable": {"pods": "500m"}}]},
            "nodes[0].allocatable.pods",
        ),
        (
            {"topology": {"levels": [{"name": name, "nodeLabel": "l"} for name in "ab"]}},
            "topology.levels[1].nodeLabel",
        ),
        (
            {"topology": {"levels": [{"name": n, "nodeLabel": n} for n in ("metadata.name", "b")]}},
            "topology.levels[0].nodeLabel",
        ),
        (
            {"queues": [{"name": "q", "resources": [{"name": "x/gpu", "nominalQuota": "1m"}]}]},
            "queues[0].resources[0].nominalQuota",
        ),
        ({"podDisruptionBudgets": [{"name": "b", "selector": {}}]}, "podDisruptionBudgets[0]"),
        (
            {
                "podDisruptionBudgets": [
                    {"name": "b", "selector": {}, "disruptionsAllowed": 0},
                    {"name": "b", "selector": {}, "disruptionsAllowed": 0},
                    {"name": "b", "namespace": "other", "selector": {}, "disruptionsAllowed": 0},
                ]
            },
            "podDisruptionBudgets[1].name",
        ),
    ],
)
def test_one_contradiction_in_a_snapshot_is_one_problem(data: dict[str, Any], path: str) -> None:
    assert [problem.path for problem in check_snapshot(snapshot(**data), "f")] == [path]


def test_a_snapshot_reports_its_jobs_too() -> None:
    pods = {"count": 1, "assignments": [{"node": "n9"}]}
    (problem,) = check_snapshot(snapshot(jobs=[{"name": "a", "podSets": [pods]}]), "f")
    assert problem.path == "jobs[0].podSets[0].assignments[0].node"


def test_a_model_reports_null_parameters_and_amounts_that_are_not_whole() -> None:
    data = {
        **VERSION,
        "kind": "Model",
        "objectives": [
            {"moves": None},
            {"each_priority": [{"evictions": None}]},
            {"fragment_rate": {"resource": "nvidia.com/gpu", "size": "500m"}},
            {"stranded_gpus": {"mix": [{"requests": {"nvidia.com/gpu": "500m"}}]}},
            {"stranded_gpus": {}},
        ],
    }
    model = validate(RawDocument("f", 0, data), Model)
    assert [problem.path for problem in check_model(model, "f", "model.")] == [
        "model.objectives[0].moves",
        "model.objectives[1].each_priority[0].evictions",
        "model.objectives[2].fragment_rate.size",
        'model.objectives[3].stranded_gpus.mix[0].requests["nvidia.com/gpu"]',
    ]


def plan(waves: list[dict[str, Any]]) -> Plan:
    place = {"job": "default/a", "podSet": "main", "count": 1}
    data: dict[str, Any] = {
        **VERSION,
        "kind": "Plan",
        "metadata": {"planId": "p", "kantoptVersion": "0", "snapshot": {"digest": "d"}},
        "summary": {
            "placedJobs": 1,
            "placedPods": 1,
            "unplacedJobs": 0,
            "unplacedPods": 0,
            "evictedPods": 1,
            "movedPods": 1,
            "changes": True,
        },
        "solver": {
            "engine": "fast",
            "strategy": "best-fit",
            "foundBy": "fast",
            "status": "FEASIBLE",
            "seed": 0,
            "deterministic": True,
            "reproducible": True,
        },
        "assignments": [{**place, "id": "b", "node": "n1"}],
        "evictions": [{**place, "id": "e", "node": "n1", "priority": 0}],
        "moves": [{**place, "id": "m", "fromNode": "n1", "toNode": "n2", "mode": "live"}],
        "waves": waves,
        "model": {**VERSION, "kind": "Model"},
    }
    return validate(RawDocument("f", 0, data), Plan)


@pytest.mark.parametrize(
    ("waves", "paths"),
    [
        ([{"id": 1, "actions": ["e", "m"]}, {"id": 2, "after": [1], "actions": ["b"]}], []),
        ([{"id": 2, "actions": ["e"]}, {"id": 1, "after": [2], "actions": ["b", "m"]}], []),
        ([{"id": 1, "after": [1], "actions": ["b", "e", "m"]}], ["waves[0].after[0]"]),
        ([{"id": 1, "actions": ["b", "e"]}], ["moves[0].id"]),
        ([{"id": 1, "actions": ["b", "e", "m", "b"]}], ["waves[0].actions[3]"]),
        ([{"id": 1, "actions": ["b", "e", "m", "x"]}], ["waves[0].actions[3]"]),
        ([{"id": 1, "actions": ["b", "e"]}, {"id": 1, "actions": ["m"]}], ["waves[1].id"]),
        ([], ["assignments[0].id", "evictions[0].id", "moves[0].id"]),
    ],
)
def test_waves_hold_every_action_once_in_order(
    waves: list[dict[str, Any]], paths: list[str]
) -> None:
    assert [problem.path for problem in check_plan(plan(waves), "f")] == paths
