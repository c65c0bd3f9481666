"""Jobs are found by any name that people have for them: owner, Deployment, pod."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kantopt.errors import UsageError
from kantopt.planning.question import Import, Question, read_question
from kantopt.planning.wanted import find_job
from scripts.kubectl_objects import GPU, pod, thing

ASKED = {"cpu": "1", GPU: "1"}
GANG = {"scheduling.x-k8s.io/pod-group": "pg-kai-train"}


@pytest.fixture
def question(tmp_path: Path) -> Question:
    node = thing("v1", "Node", "n1", status={"allocatable": {"cpu": "9", "pods": "9", GPU: "8"}})
    replica = pod(
        "team-a",
        "web-7f9c-x2",
        ASKED,
        owner=("ReplicaSet", "web-7f9c"),
        node="n1",
        labels={"pod-template-hash": "7f9c"},
    )
    train = pod("team-a", "kai-train-0", ASKED, owner=("Job", "kai-train"), labels=GANG)
    gated = pod("team-a", "later-0", ASKED, owner=("Job", "later"))
    gated["spec"]["schedulingGates"] = [{"name": "example.org/wait"}]
    file = tmp_path / "cluster.json"
    items = {"apiVersion": "v1", "kind": "List", "items": [node, replica, train, gated]}
    file.write_text(json.dumps(items))
    return read_question([str(file)], Import())


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("team-a/web-7f9c", "team-a/web-7f9c"),
        ("web", "team-a/web-7f9c"),
        ("team-a/web", "team-a/web-7f9c"),
        ("web-7f9c-x2", "team-a/web-7f9c"),
        ("pg-kai-train", "team-a/pg-kai-train"),
        ("kai-train", "team-a/pg-kai-train"),
        ("team-a/kai-train-0", "team-a/pg-kai-train"),
    ],
)
def test_any_name_leads_to_the_job(question: Question, name: str, job: str) -> None:
    assert find_job(question, name) == job


@pytest.mark.parametrize("name", ["later", "team-a/later-0"])
def test_a_job_that_gates_hold_back_is_named_as_such(question: Question, name: str) -> None:
    with pytest.raises(UsageError, match=r"held back by scheduling gates .* counts with --gated"):
        find_job(question, name)
