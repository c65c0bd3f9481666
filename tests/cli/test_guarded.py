"""``kantopt verify --against``: what of a plan can still be done today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import JOBS, SNAPSHOT, Cli

PLAN = ("plan", "snap.yaml", "jobs.yaml", "--engine", "fast")


@pytest.fixture(autouse=True)
def _planned(files: Path, cli: Cli) -> None:
    """All of these run in the folder, with a plan for the cluster there."""
    assert cli(*PLAN, "-O", "plan.json", "-q").code == 0


def today(old: str, new: str) -> None:
    """Write what the cluster has become."""
    assert old in SNAPSHOT
    Path("today.yaml").write_text(SNAPSHOT.replace(old, new))


def test_a_plan_that_is_still_legal_is_0(cli: Cli) -> None:
    today("T03:00:00Z", "T04:00:00Z")
    done = cli("verify", "--against", "today.yaml", "plan.json")
    assert done.code == 0
    assert done.out.startswith("LEGAL: all steps can still be taken.\n")
    assert done.err == ""


def test_what_is_cut_is_12_and_what_is_left_is_written_and_valid(cli: Cli) -> None:
    today("{name: gpu-003,", "{name: gpu-003, unschedulable: true,")
    assert cli("verify", "--against", "today.yaml", "plan.json").code == 0
    today("{name: gpu-002,", "{name: gpu-002, unschedulable: true,")
    done = cli("verify", "--against", "today.yaml", "plan.json", "-O", "rest.json")
    assert done.code == 12
    assert done.out.startswith("CUT: 0 of 3 steps can still be taken, 3 cannot.\n")
    assert "eligibility: job team-a/llm-8 pod set worker: 1 of 0 pods allowed on node gpu-002" in (
        done.out
    )
    rest = json.loads(Path("rest.json").read_text())
    assert [step["id"] for step in rest["cut"]] == ["e1", "b1", "b2"]
    assert rest["summary"]["changes"] is False
    assert cli("verify", "today.yaml", "jobs.yaml", "rest.json").code == 0
    assert cli("verify", "today.yaml", "rest.json").code == 0
    out = cli("verify", "--against", "today.yaml", "plan.json", "-o", "json").out
    assert json.loads(out) == rest


def test_steps_that_are_cut_by_name(cli: Cli) -> None:
    today("uid: u0", "uid: u7")
    done = cli("verify", "--against", "today.yaml", "plan.json", "-o", "name", "-q")
    assert done.code == 12
    assert done.out.splitlines() == [
        "e1 replaced: pod b-0 is another one, on gpu-001: uid u7",
        "b1 after: waits for e1 in wave 1",
        "b2 after: waits for e1 in wave 1",
    ]
    assert done.err == ""


def test_a_victim_that_could_stay_by_now_is_named(cli: Cli) -> None:
    today("T03:00:00Z", "T04:00:00Z")
    text = Path("today.yaml").read_text()
    assert "without need" not in cli("verify", "--against", "today.yaml", "plan.json").out.lower()
    gpu_2 = next(line for line in text.splitlines() if "{name: gpu-002," in line)
    wider = f"{gpu_2}\n{gpu_2.replace('gpu-002', 'gpu-009')}"
    Path("today.yaml").write_text(text.replace(gpu_2, wider))
    done = cli("verify", "--against", "today.yaml", "plan.json", "-O", "rest.json")
    assert (done.code, done.err) == (0, "")
    spared = "team-b/batch-1 could have been spared: team-a/llm-8 has a place on node gpu-009"
    assert f"EVICTED WITHOUT NEED, though legal\n  job {spared}" in done.out
    rest = json.loads(Path("rest.json").read_text())
    assert f"evicted without need, though legal: job {spared}" in rest["warnings"]
    assert spared in cli("verify", "today.yaml", "jobs.yaml", "rest.json").out


def test_an_eviction_whose_pod_is_gone_is_done(cli: Cli) -> None:
    gone = "    - {node: gpu-001, count: 1, pods: [{name: b-0, uid: u0}]}\n"
    today(gone, "")
    Path("today.yaml").write_text(Path("today.yaml").read_text().replace("count: 2", "count: 1"))
    done = cli("verify", "--against", "today.yaml", "plan.json", "-O", "rest.json")
    assert done.code == 0
    text = "LEGAL: the other 2 steps can still be taken, 1 step has been taken."
    assert done.out.startswith(text)
    assert cli("verify", "today.yaml", "rest.json").code == 0


def test_a_job_of_the_list_that_runs_by_now_counts_as_the_cluster_shows_it(cli: Cli) -> None:
    today("    - {node: gpu-001, count: 1, pods: [{name: b-0, uid: u0}]}\n", "")
    nodes = sorted(b["node"] for b in json.loads(Path("plan.json").read_text())["assignments"])
    assert nodes == ["gpu-001", "gpu-002"]
    _, _, job = JOBS.partition("jobs:\n")
    places = ", ".join(f"{{node: {node}, count: 1}}" for node in nodes)
    running = job.replace("8}}", f"8}}, assignments: [{places}]}}")
    text = Path("today.yaml").read_text().replace("count: 2\n", "count: 1\n")
    budgets = "podDisruptionBudgets:"
    Path("today.yaml").write_text(text.replace(budgets, f"{running}{budgets}"))
    done = cli("verify", "--against", "today.yaml", "plan.json", "jobs.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("DONE: 3 steps, all taken already.\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--against", "snap.yaml", "jobs.yaml"), 65, "expected one Plan"),
        (("--against", "snap.yaml", "snap.yaml", "plan.json"), 65, "expected one ClusterSnapshot"),
        (("--against", "jobs.yaml", "plan.json"), 65, "expected a ClusterSnapshot"),
        (("--against", "snap.yaml", "plan.json", "-m", "mixed"), 64, "under its own model"),
        (("snap.yaml", "plan.json", "--max-snapshot-age", "15m"), 64, "is for --against"),
        (("--against", "snap.yaml", "plan.json", "--max-snapshot-age", "15m"), 65, "capturedAt"),
        (("--against", "missing.yaml", "plan.json"), 66, "missing.yaml"),
        (("--against", "snap.yaml", "plan.json", "-O", "no/where"), 73, "no/where"),
    ],
)
def test_what_cannot_be_guarded(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    monkeypatch.setenv("KANTOPT_NOW", "2026-09-01T03:16:00Z")
    done = cli("verify", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_another_node_of_the_same_name_makes_a_plan_untrue(cli: Cli) -> None:
    Path("snap.yaml").write_text(SNAPSHOT.replace("{name: gpu-001,", "{name: gpu-001, uid: one,"))
    assert cli(*PLAN, "-O", "plan.json", "-q").code == 0
    assert json.loads(Path("plan.json").read_text())["nodes"] == [{"name": "gpu-001", "uid": "one"}]
    assert cli("verify", "snap.yaml", "jobs.yaml", "plan.json").code == 0
    today("{name: gpu-001,", "{name: gpu-001, uid: two,")
    done = cli("verify", "today.yaml", "jobs.yaml", "plan.json", "-o", "name")
    assert done.code == 12
    assert done.out == "claims: nodes gpu-001: stated uid one, found uid two\n"


def test_a_plan_names_the_budgets_it_uses_and_another_one_makes_it_untrue(cli: Cli) -> None:
    bare = "{name: batch, namespace: team-b,"
    text = SNAPSHOT.replace(bare, f"{bare} uid: one, resourceVersion: '7',")
    Path("snap.yaml").write_text(text)
    assert cli(*PLAN, "-O", "plan.json", "-q").code == 0
    (named,) = json.loads(Path("plan.json").read_text())["budgets"]
    assert (named["uid"], named["resourceVersion"]) == ("one", "7")
    assert cli("verify", "snap.yaml", "jobs.yaml", "plan.json").code == 0
    Path("today.yaml").write_text(text.replace("uid: one,", "uid: two,"))
    done = cli("verify", "today.yaml", "jobs.yaml", "plan.json", "-o", "name")
    assert done.code == 12
    assert done.out == f"claims: budgets {named['name']}: stated uid one, found uid two\n"


def test_of_many_steps_those_that_are_cut_come_first_and_wide_has_all(cli: Cli) -> None:
    nodes = "".join(
        f"- {{name: n{i:02d}, allocatable: {{cpu: 1, nvidia.com/gpu: 8}}}}\n" for i in range(40)
    )
    head = "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\nnodes:\n"
    Path("many.yaml").write_text(head + nodes)
    jobs = "apiVersion: kantopt/v1alpha1\nkind: JobList\njobs:\n- name: j\n  podSets:\n"
    jobs += "  - {count: 40, minCount: 0, requests: {cpu: 1}}\n"
    Path("forty.yaml").write_text(jobs)
    assert cli("plan", "many.yaml", "forty.yaml", "--engine", "fast", "-O", "p.json").code == 0
    Path("many.yaml").write_text(head + nodes.replace("n39,", "n39, unschedulable: true,"))
    asked = ("verify", "--against", "many.yaml", "p.json", "forty.yaml")
    done = cli(*asked)
    assert done.code == 12
    assert sum(" bind to n" in line for line in done.out.splitlines()) == 30
    assert "bind to n39" in done.out
    assert "and 10 more: 10 legal (-o wide lists all)" in done.out
    assert cli(*asked, "-o", "wide").out.count(" bind to n") == 40
