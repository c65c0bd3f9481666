"""Pods that ask for what is not modelled: left alone, or planned as if they did not ask."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.problem.build import build_instance
from kantopt.problem.chosen import considered
from kantopt.problem.not_modelled import count_left
from kantopt.schema.features import Feature
from kantopt.schema.jobs import Job, JobList
from kantopt.schema.snapshot import ClusterSnapshot
from tests.questions import document, model

ASKS = {"count": 2, "minCount": 0, "notModelled": ["claims"]}
PLAIN = {"name": "plain", "count": 3, "minCount": 0}
RUNS = {"assignments": [{"node": "n", "count": 2}]}


def jobs_of(*podsets: dict[str, Any], **more: Any) -> tuple[Job, ...]:
    job = {"name": "web", "podSets": list(podsets), **more}
    found: JobList = document({"kind": "JobList", "jobs": [job]}, JobList)
    return found.jobs


def counts(jobs: tuple[Job, ...], assumed: Collection[Feature]) -> list[tuple[Any, ...]]:
    found = count_left(jobs, assumed)
    return [(left.features, left.assumed, left.pending, left.running) for left in found]


def test_pending_pods_are_left_out_and_others_of_the_job_are_not() -> None:
    jobs = jobs_of(ASKS, PLAIN)
    (kept,) = considered(jobs, None)
    assert [podset.name for podset in kept.pod_sets] == ["plain"]
    assert counts(jobs, ()) == [(("claims",), False, 2, 0)]


def test_what_is_assumed_is_planned_and_counted() -> None:
    jobs = jobs_of(ASKS, PLAIN)
    assert considered(jobs, None, ["claims"]) == jobs
    assert considered(jobs, None, ["resource-claims"]) != jobs
    assert counts(jobs, ["claims"]) == [(("claims",), True, 2, 0)]


def test_a_gang_waits_as_a_whole_for_a_pod_that_nobody_places() -> None:
    jobs = jobs_of(ASKS, {**PLAIN, "minCount": 3})
    assert considered(jobs, None) == ()
    assert counts(jobs, ()) == [(("claims",), False, 5, 0)]


def test_running_pods_stay_where_they_are() -> None:
    jobs = jobs_of({**ASKS, **RUNS}, {**PLAIN, "assignments": [{"node": "n", "count": 3}]})
    data = {"kind": "ClusterSnapshot", "nodes": [{"name": "n"}]}
    snapshot: ClusterSnapshot = document(data, ClusterSnapshot)
    snapshot = snapshot.model_copy(update={"jobs": jobs})
    asked = model("nodes_in_use")
    podsets = build_instance(snapshot, (), asked).podsets
    assert [(p.movable, p.preemptible) for p in podsets] == [(False, False), (True, True)]
    podsets = build_instance(snapshot, (), model("nodes_in_use", assume=["claims"])).podsets
    assert all(p.movable and p.preemptible for p in podsets)
    assert counts(jobs, ()) == [(("claims",), False, 0, 2)]


def test_pods_that_nobody_could_disturb_are_not_counted() -> None:
    for pinned in ({"daemon": True}, {"preemptible": False, "movable": False}):
        assert counts(jobs_of({**ASKS, **RUNS}, **pinned), ()) == []


def test_a_required_job_that_is_left_out_is_refused_with_the_way_out() -> None:
    snapshot: ClusterSnapshot = document({"kind": "ClusterSnapshot"}, ClusterSnapshot)
    asked = model("nodes_in_use", required=["web"])
    with pytest.raises(BadDataError, match="--assume claims plans them all the same"):
        build_instance(snapshot, jobs_of(ASKS), asked)
