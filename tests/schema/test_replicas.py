"""Jobs of several replicas: what each of them is, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.planning.question import Question, question_of
from kantopt.schema.consistency import check_trace
from kantopt.schema.job_consistency import check_jobs
from kantopt.schema.jobs import JobList
from kantopt.schema.raw import RawDocument
from kantopt.schema.replicas import replicated
from kantopt.schema.trace import Trace
from kantopt.schema.validation import validate

VERSION = {"apiVersion": "kantopt/v1alpha1"}
ROLES = [{"name": "prefill", "count": 1}, {"name": "decode", "count": 3}]


def listed(*jobs: dict[str, Any]) -> JobList:
    data = {**VERSION, "kind": "JobList", "jobs": list(jobs)}
    return validate(RawDocument("f", 0, data), JobList)


def paths(*jobs: dict[str, Any]) -> list[str]:
    return [each.path for each in check_jobs(listed(*jobs).jobs, None, "f")]


def test_each_replica_is_a_job_with_the_pods_of_all_roles() -> None:
    jobs = replicated(
        listed({"name": "a", "podSets": ROLES}, {"name": "s", "replicas": 2, "podSets": ROLES}).jobs
    )
    assert [job.name for job in jobs] == ["a", "s-0", "s-1"]
    assert {tuple(p.count for p in job.pod_sets) for job in jobs} == {(1, 3)}
    assert all(job.replicas is None for job in jobs)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"minCount": 2}, "minCount"),
        ({"podSets": [{"count": 3, "minCount": 2}]}, "podSets[0].minCount"),
        ({"podSets": [{"assignments": [{"node": "n"}], "count": 1}]}, "podSets[0].assignments"),
        ({"podSets": [{"pods": [{"name": "p"}], "count": 1}]}, "podSets[0].pods"),
    ],
)
def test_nothing_may_be_said_of_a_part_of_a_replica(more: dict[str, Any], path: str) -> None:
    assert paths({"name": "s", "replicas": 2, "podSets": ROLES, **more}) == [f"jobs[0].{path}"]
    assert paths({"name": "s", "podSets": ROLES, **more}) == []


def test_no_job_may_have_the_name_of_a_replica() -> None:
    service = {"name": "s", "replicas": 2, "podSets": ROLES}
    assert paths(service, {"name": "s-2", "podSets": ROLES}) == []
    assert paths(service, {"name": "s-1", "podSets": ROLES}) == ["jobs[1].name"]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"scale": [{"after": "1h", "replicas": 2}]}, "replicas"),
        ({"replicas": 1, "scale": [{"after": "0s", "replicas": 2}]}, "scale[0].after"),
        (
            {
                "replicas": 1,
                "scale": [{"after": "1h", "replicas": 2}, {"after": "60m", "replicas": 1}],
            },
            "scale[1].after",
        ),
    ],
)
def test_a_scale_goes_forward_from_a_number(more: dict[str, Any], path: str) -> None:
    job = {"name": "s", "arrival": "0s", "duration": "1h", "podSets": ROLES, **more}
    trace = validate(RawDocument("f", 0, {**VERSION, "kind": "Trace", "jobs": [job]}), Trace)
    assert [each.path for each in check_trace(trace, None, "f")] == [f"jobs[0].{path}"]


def question(*jobs: dict[str, Any], running: tuple[dict[str, Any], ...] = ()) -> Question:
    cluster = {
        **VERSION,
        "kind": "ClusterSnapshot",
        "nodes": [{"name": "n", "allocatable": {"cpu": 4}}],
        "jobs": list(running),
    }
    waiting = {**VERSION, "kind": "JobList", "jobs": list(jobs)}
    return question_of([RawDocument("c", 0, cluster), RawDocument("j", 0, waiting)])


def test_a_question_has_the_replicas_of_all_documents() -> None:
    found = question(
        {"name": "s", "replicas": 2, "podSets": ROLES},
        running=({"name": "r", "replicas": 1, "podSets": ROLES},),
    )
    assert [job.name for job in found.jobs] == ["r-0", "s-0", "s-1"]


def test_a_replica_is_not_in_another_document_as_well() -> None:
    service = {"name": "s", "replicas": 2, "podSets": ROLES}
    with pytest.raises(BadDataError, match=r'the job "default/s-1" again'):
        question(service, running=({"name": "s-1", "podSets": ROLES},))
