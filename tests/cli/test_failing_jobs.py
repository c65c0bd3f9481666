"""A Job that fails, as more of its pods go than it bears, is told with the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.formats.cluster_objects import Object, node, pod, thing


def job(limit: int, failed: int) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sweep", "namespace": "default", "uid": "Job/sweep"},
        "spec": {"parallelism": 3, "backoffLimit": limit},
        "status": {"active": 3, "failed": failed},
    }


@pytest.mark.parametrize(
    ("limit", "failed", "size", "said"),
    [
        (2, 1, 2, "2 of its pods go, and its backoffLimit bears 1: the Job fails, and its 1 other"),
        (3, 1, 2, ""),
        (0, 0, 3, "3 of its pods go, and its Job bears none: the Job fails"),
        (0, 0, 0, ""),
    ],
)
@pytest.mark.usefixtures("files")
def test_evictions_beyond_the_backoff_limit_of_a_job_are_told(
    cli: Cli, limit: int, failed: int, size: int, said: str
) -> None:
    owner = "Job/sweep"
    dump = [
        node("a", cpu="3"),
        job(limit, failed),
        *(pod(f"sweep-{i}", on="a", owner=owner, restartPolicy="Never") for i in range(3)),
        *([pod("big", requests={"cpu": str(size)}, priority=9)] if size else []),
    ]
    Path("dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": dump}))
    done = cli("plan", "dump.json", "-o", "json", "--engine", "fast")
    plan = json.loads(done.out)
    assert plan["summary"]["evictedPods"] == size
    warned = [text for text in plan.get("warnings", ()) if "the Job fails" in text]
    assert len(warned) == bool(said)
    assert all(text.startswith(f"job default/sweep: {said}") for text in warned)
    if size:
        told = cli("explain", "dump.json", "app", "-o", "json").out
        assert ("the Job fails" in told) == bool(said)
    other = cli("plan", "dump.json", "-o", "json", "--disturb", "backoff-limit")
    assert "the Job fails" not in other.out


CONSENT = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}


def volcano(action: str) -> Object:
    policies = [{"event": "PodEvicted", "action": action}]
    found = thing("batch.volcano.sh/v1alpha1", "Job", "v", policies=policies)
    return {**found, "status": {"state": {"phase": "Running"}}}


def of_volcano(name: str) -> Object:
    found = pod(name, on="a", owner="Job/v", labels={"volcano.sh/job-name": "v"})
    found["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1"
    return found


@pytest.mark.parametrize(
    ("victims", "pods", "why"),
    [
        ([pod("bare", on="a", owner="", annotations=CONSENT)], 1, "without a controller anew"),
        (
            [job(0, 0), pod("sweep-0", on="a", owner="Job/sweep")],
            1,
            "Job bears none: the Job fails",
        ),
        (
            [volcano("TerminateJob"), of_volcano("v-0"), of_volcano("v-1")],
            2,
            "its job bears none: the job ends",
        ),
        ([volcano("RestartJob"), of_volcano("v-0"), of_volcano("v-1")], 2, ""),
        ([volcano("RestartTask"), of_volcano("v-0"), of_volcano("v-1")], 2, ""),
        ([job(1, 0), pod("sweep-0", on="a", owner="Job/sweep")], 1, ""),
        ([pod("web-0", on="a")], 1, ""),
    ],
)
@pytest.mark.usefixtures("files")
def test_victims_that_nobody_makes_anew_do_not_wait_again(
    cli: Cli, victims: list[Object], pods: int, why: str
) -> None:
    big = pod("big", owner="ReplicaSet/big", requests={"cpu": "2"}, priority=9)
    dump = {"apiVersion": "v1", "kind": "List", "items": [node("a", cpu="2"), *victims, big]}
    Path("dump.json").write_text(json.dumps(dump).replace('"uid": "Job/', '"uid": "Job-'))
    asked = ("plan", "dump.json", "--engine", "fast")
    done = cli(*asked, "-O", "plan.json")
    plan = json.loads(Path("plan.json").read_text())
    assert [item.get("forGood", False) for item in plan["evictions"]] == [bool(why)]
    assert ("cascade" in plan) is not bool(why)
    again = "evicted pod waits again" if pods == 1 else "evicted pods wait again"
    gone = "evicted pod is gone for good" if pods == 1 else "evicted pods are gone for good"
    assert f"{pods} {gone if why else again}: default/" in done.out
    assert (gone in done.out) is bool(why)
    assert ("Queued again" in done.out) is not bool(why)
    assert why in done.out
    assert cli("verify", "dump.json", "plan.json").code == 0
    script = cli("render", "plan.json", "--to", "kubectl", "--shell", "--evict-anyway").out
    assert ("gone for good" in script) is bool(why)
    plan["evictions"][0]["forGood"] = not why
    Path("plan.json").write_text(json.dumps(plan))
    assert "e1 forGood" in cli("verify", "dump.json", "plan.json", "-o", "name").out


@pytest.mark.usefixtures("files")
def test_whom_victims_would_push_out_for_good_ends_the_cascade(cli: Cli) -> None:
    victim = pod("web-0", on="b", requests={"cpu": "2"}, priority=5)
    last = pod("sweep-0", on="a", owner="Job/sweep", requests={"cpu": "2"})
    big = pod("big", owner="ReplicaSet/big", requests={"cpu": "4"}, priority=9)
    nodes = [node("a", cpu="2"), node("b", cpu="4")]
    dump = {"apiVersion": "v1", "kind": "List", "items": [*nodes, job(0, 0), victim, last, big]}
    Path("dump.json").write_text(json.dumps(dump))
    model = "apiVersion: kantopt/v1alpha1\nkind: Model\nmetadata: {name: still}\nextends: mixed\n"
    Path("still.yaml").write_text(f"{model}limits: {{moves: 0}}\n")
    asked = ("plan", "dump.json", "still.yaml", "--engine", "fast")
    assert cli(*asked, "-O", "plan.json", "-q").code == 0
    plan = json.loads(Path("plan.json").read_text())
    assert [len(each.get("evicted", ())) for each in plan["cascade"]["rounds"]] == [1, 0]
    assert cli("verify", "dump.json", "plan.json").code == 0


@pytest.mark.usefixtures("files")
def test_a_bare_pod_that_may_be_evicted_is_not_moved(cli: Cli) -> None:
    bare = pod("bare", on="a", owner="", annotations=CONSENT)
    stays = pod("stays", on="b", owner="", requests={"cpu": "4"})
    dump = {"apiVersion": "v1", "kind": "List", "items": [node("a"), node("b"), bare, stays]}
    Path("dump.json").write_text(json.dumps(dump))
    clear = ("defrag", "dump.json", "--goal", "empty-nodes", "--engine", "fast", "-o", "json")
    assert json.loads(cli(*clear).out)["summary"]["movedPods"] == 0
    forced = json.loads(cli(*clear, "--disturb", "no-controller").out)
    assert forced["summary"]["movedPods"] == 1
    assert any("nobody makes pods without a controller anew" in text for text in forced["warnings"])


@pytest.mark.parametrize(("limit", "failed"), [(0, 0), (6, 6)])
@pytest.mark.usefixtures("files")
def test_a_job_that_bears_no_failure_is_said_to_stay_for_it(
    cli: Cli, limit: int, failed: int
) -> None:
    sweep = pod("sweep-0", on="a", owner="Job/sweep")
    dump = {"items": [node("a"), node("b"), job(limit, failed), sweep]}
    Path("dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", **dump}))
    out = " ".join(cli("drain", "a", "-f", "dump.json").out.split())
    why = "none of its job's pods may move (maxMoves, of a Job its backoffLimit"
    assert f"stays on a: default/sweep/main, {why}: --disturb backoff-limit)" in out
