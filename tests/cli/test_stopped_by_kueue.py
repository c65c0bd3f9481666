"""Kueue stops a job whole to make room: its Job fails by nobody's eviction, and waits again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.formats.cluster_objects import Object, node, pod
from tests.formats.test_kueue_preemption import GPU, LOWER, queue, waits

LABEL = "kueue.x-k8s.io/queue-name"


def dump(*more: Object, labels: Object | None = None) -> None:
    """Three pods of a Job that bears no failure, on all GPUs of a node."""
    made = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"backoffLimit": 0}}
    metadata = {"name": "mine", "namespace": "default", "uid": "Job/mine"}
    pods = [
        pod(f"mine-{i}", on="a", owner="Job/mine", labels=labels, requests={GPU: "2"})
        for i in range(3)
    ]
    items = [node("a", **{GPU: "6"}), {**made, "metadata": metadata}, *pods, *more]
    items += queue("q", 8, withinClusterQueue=LOWER)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    Path("dump.json").write_text(text.replace('"uid": "Job/', '"uid": "Job-'))


def planned(cli: Cli) -> Object:
    asked = cli("plan", "dump.json", "--engine", "fast", "--gated", "-O", "plan.json", "-q")
    assert asked.code == 0
    assert cli("verify", "dump.json", "plan.json").code == 0
    plan: Object = json.loads(Path("plan.json").read_text())
    assert plan["summary"]["evictedPods"]
    return plan


GATED = pod("big", requests={GPU: "4"}, priority=9, schedulingGates=[{"name": "kantopt/hold"}])


@pytest.mark.parametrize(
    ("labels", "heir", "fails"),
    [
        ({LABEL: "q"}, waits("w", "q", 4), False),
        ({LABEL: "q"}, GATED, True),  # kube-scheduler evicts pod by pod
        ({}, waits("w", "q", 4), True),  # Kueue does not manage it, and does not stop it
    ],
    ids=["waits for Kueue", "exists", "not managed"],
)
@pytest.mark.usefixtures("files")
def test_a_job_that_kueue_stops_does_not_fail_and_waits_again(
    cli: Cli, labels: Object, heir: Object, fails: bool
) -> None:
    dump(heir, labels=labels)
    plan = planned(cli)
    assert any("the Job fails" in text for text in plan["warnings"]) is fails
    assert {item.get("forGood", False) for item in plan["evictions"]} == {fails}
    assert ("cascade" in plan) is not fails


@pytest.mark.parametrize("target", ["kubectl", "eviction-requests"])
@pytest.mark.usefixtures("files")
def test_pods_of_whom_kueue_would_hold_the_quota_are_not_evicted_one_by_one(
    cli: Cli, target: str
) -> None:
    dump(waits("w", "q", 4), labels={LABEL: "q"})
    planned(cli)
    shell = ("--shell",) if target == "kubectl" else ()
    done = cli("render", "plan.json", "--to", target, *shell, "--evict-anyway")
    assert done.code == 0
    assert "its Workload keeps its quota" in done.out
    assert "Evicts 3 pods" not in done.out
    assert "kind: EvictionRequest" not in done.out
