"""The plan of the run before: what has changed since, and nothing is solved twice."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kantopt.planning import plan as planning
from kantopt.planning.solving.messages import Failed
from kantopt.planning.solving.solver_process import SolverProcess
from tests.cli.conftest import JOBS, SNAPSHOT, Cli
from tests.cli.scheduled import KEPT, at, solve_nothing, terminate_when_planning

PLAN = ("plan", "snap.yaml", "jobs.yaml", "--workers", "1")


@pytest.fixture(autouse=True)
def _at_three(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of these run in the folder, five minutes after the snapshot."""
    at(monkeypatch, "03:05")


def test_the_same_question_is_not_solved_again(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cli(*PLAN, *KEPT, "--detailed-exitcode", "-o", "json")
    kept = Path("last.json").read_bytes()
    assert first.out.encode() == kept
    solve_nothing(monkeypatch)
    again = cli(*PLAN, *KEPT, "--detailed-exitcode", "-o", "json")
    assert (again.code, again.out) == (first.code, first.out)
    assert Path("last.json").read_bytes() == kept
    table = cli(*PLAN, *KEPT)
    assert table.out.startswith("NO CHANGE: the last plan, made for 2026-09-01T03:00:00Z, still")
    assert cli(*PLAN, *KEPT, "-o", "name").out.startswith("evict team-b/batch-1/worker")


def test_the_time_of_a_snapshot_and_versions_are_no_other_question(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*PLAN, *KEPT).code == 0
    later = SNAPSHOT.replace("T03:00:00Z", "T03:30:00Z").replace("uid: u0", "uid: u0, %s")
    later %= 'resourceVersion: "7"'
    Path("snap.yaml").write_text(later)
    solve_nothing(monkeypatch)
    done = cli(*PLAN, *KEPT, "-O", "plan.json")
    assert "NO CHANGE" in done.out
    plan = json.loads(Path("plan.json").read_text())
    assert plan["metadata"]["snapshot"]["capturedAt"] == "2026-09-01T03:30:00Z"
    assert Path("last.json").read_bytes() == Path("plan.json").read_bytes()
    assert cli("verify", "snap.yaml", "jobs.yaml", "plan.json").code == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{cpu: 4,", "{cpu: 5,"),
        ("uid: u0", "uid: u9"),
        ("disruptionsAllowed: 2", "disruptionsAllowed: 1"),
    ],
)
def test_any_other_change_of_the_cluster_is_planned_anew(cli: Cli, old: str, new: str) -> None:
    cli(*PLAN, *KEPT)
    Path("snap.yaml").write_text(SNAPSHOT.replace(old, new))
    assert "NO CHANGE" not in cli(*PLAN, *KEPT).out


def test_other_options_models_and_jobs_are_planned_anew(cli: Cli) -> None:
    cli(*PLAN, *KEPT)
    for more in (["--seed", "1"], ["-m", "training"], ["--time-limit", "11s"], ["huge.yaml"]):
        assert "NO CHANGE" not in cli(*PLAN, *KEPT, *more).out
    assert "NO CHANGE" in cli(*PLAN, *KEPT, "huge.yaml").out


def test_waiting_jobs_make_the_time_of_the_snapshot_part_of_the_question(cli: Cli) -> None:
    text = "apiVersion: kantopt/v1alpha1\nkind: Model\nobjectives: [waiting]\n"
    Path("waiting.yaml").write_text(text)
    cli(*PLAN, *KEPT, "waiting.yaml")
    Path("snap.yaml").write_text(SNAPSHOT.replace("T03:00:00Z", "T03:30:00Z"))
    assert "NO CHANGE" not in cli(*PLAN, *KEPT, "waiting.yaml").out


def test_a_job_that_may_be_evicted_by_now_is_another_question(cli: Cli) -> None:
    text = "apiVersion: kantopt/v1alpha1\nkind: Model\nobjectives: [unplaced, evictions]\n"
    Path("model.yaml").write_text(text)
    young = SNAPSHOT.replace("  movable: false", YOUNG)
    Path("snap.yaml").write_text(young)
    cli(*PLAN, *KEPT, "model.yaml")
    Path("snap.yaml").write_text(young.replace("T03:00:00Z", "T03:10:00Z"))
    assert "NO CHANGE" in cli(*PLAN, *KEPT, "model.yaml").out
    Path("snap.yaml").write_text(young.replace("T03:00:00Z", "T03:30:00Z"))
    assert "NO CHANGE" not in cli(*PLAN, *KEPT, "model.yaml").out


def test_a_plan_that_loses_work_is_made_anew_as_there_is_more_to_lose(cli: Cli) -> None:
    begun = SNAPSHOT.replace("  movable: false", YOUNG.replace("  minRuntime: 20m", ""))
    Path("snap.yaml").write_text(begun)
    assert "evict" in cli(*PLAN, *KEPT, "-o", "name").out
    assert "NO CHANGE" in cli(*PLAN, *KEPT).out
    Path("snap.yaml").write_text(begun.replace("T03:00:00Z", "T03:10:00Z"))
    assert "NO CHANGE" not in cli(*PLAN, *KEPT).out


def test_a_plan_that_loses_no_work_stands_however_late_it_is(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = ("plan", "snap.yaml", "none.yaml", "--engine", "fast", *KEPT)
    young = SNAPSHOT.replace("  movable: false", YOUNG)
    Path("snap.yaml").write_text(young)
    first = json.loads(cli(*quiet, "-o", "json").out)
    lost = [row for row in first["objectives"] if row["metric"] == "lost_gpu_seconds"]
    assert [row["value"] for row in lost] == [0]
    with monkeypatch.context() as patch:
        solve_nothing(patch)
        Path("snap.yaml").write_text(young.replace("T03:00:00Z", "T03:10:00Z"))
        assert "NO CHANGE" in cli(*quiet, "-O", "plan.json").out
        assert cli("verify", "snap.yaml", "none.yaml", "plan.json").code == 0
    Path("snap.yaml").write_text(young.replace("T03:00:00Z", "T02:59:00Z"))
    assert "NO CHANGE" not in cli(*quiet).out, "nobody had begun"


YOUNG = """\
  movable: false
  startTime: "2026-09-01T02:59:00Z"
  minRuntime: 20m"""


def test_a_run_that_was_ended_early_is_no_answer_for_the_next(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        terminate_when_planning(patch)
        assert cli(*PLAN, *KEPT).code == 143
    assert "questionDigest" not in json.loads(Path("last.json").read_text())["metadata"]
    assert "NO CHANGE" not in cli(*PLAN, *KEPT).out


def test_a_plan_that_is_not_proved_is_searched_for_again(cli: Cli) -> None:
    fast = (*PLAN, "--engine", "fast", *KEPT)
    cli(*fast)
    first = json.loads(Path("last.json").read_text())
    assert first["solver"]["status"] == "FEASIBLE"
    assert first["metadata"]["questionDigest"]
    again = cli(*fast)
    assert "NO CHANGE" not in again.out
    assert "since the last plan" in again.out.lower()
    assert "nothing has changed" in again.out
    second = json.loads(Path("last.json").read_text())
    assert second["waves"] == first["waves"]
    assert second["solver"]["foundBy"] == "last-plan"


def test_each_search_for_the_same_question_draws_other_numbers_and_keeps_what_is_proved(
    cli: Cli,
) -> None:
    fast = (*PLAN, "--engine", "fast", *KEPT)
    plans = []
    for _ in range(3):
        cli(*fast)
        plans.append(json.loads(Path("last.json").read_text()))
    assert [plan["metadata"].get("searches", 1) for plan in plans] == [1, 2, 3]
    assert [plan["solver"]["seed"] for plan in plans] == [0, 1, 2]
    values = [[row["value"] for row in plan["objectives"][:-1]] for plan in plans[1:]]
    assert values == [[row["value"] for row in plans[0]["objectives"]]] * 2
    assert [plan["objectives"][-1]["name"] for plan in plans[1:]] == ["changes_to_plan"] * 2


def test_a_plan_that_changed_the_one_before_is_given_again_without_a_word_of_that(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli(*PLAN, *KEPT)
    Path("jobs.yaml").write_text(JOBS + HELD_JOB)
    cli(*PLAN, *KEPT, "-O", "plan.json")
    second = json.loads(Path("last.json").read_text())
    assert second["objectives"][-1]["metric"] == "changes_to_plan"
    assert second["objectives"][-1]["value"] == 0
    assert second["model"]["lastPlan"]
    assert cli("verify", "snap.yaml", "jobs.yaml", "plan.json").code == 0
    solve_nothing(monkeypatch)
    assert "NO CHANGE" in cli(*PLAN, *KEPT, "-O", "plan.json").out
    third = json.loads(Path("last.json").read_text())
    assert [row["name"] for row in third["objectives"]] == [
        row["name"] for row in second["objectives"][:-1]
    ]
    assert "lastPlan" not in third["model"]
    assert cli("verify", "snap.yaml", "jobs.yaml", "plan.json").code == 0
    kept = Path("last.json").read_bytes()
    assert "NO CHANGE" in cli(*PLAN, *KEPT).out
    assert Path("last.json").read_bytes() == kept


def test_a_run_whose_solver_died_is_no_answer_for_the_next(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        dead = Failed("the solver process ended unexpectedly (signal SIGKILL)")
        patch.setattr(SolverProcess, "message", lambda *_: dead)
        assert "SIGKILL" in cli(*PLAN, *KEPT).out
    before = json.loads(Path("last.json").read_text())
    assert before["solver"]["status"] == "FEASIBLE"
    assert "OPTIMAL" in cli(*PLAN, *KEPT).out
    after = json.loads(Path("last.json").read_text())
    assert after["solver"]["status"] == "OPTIMAL"
    rows = after["objectives"][: len(before["objectives"])]
    assert [row["value"] for row in rows] <= [row["value"] for row in before["objectives"]]


def test_what_is_new_gone_and_changed_is_told(cli: Cli) -> None:
    cli(*PLAN, *KEPT)
    more = JOBS + HELD_JOB
    Path("jobs.yaml").write_text(more.replace("count: 2,", "count: 1,"))
    done = cli(*PLAN, *KEPT)
    table = done.out.partition("SINCE THE LAST PLAN, made for 2026-09-01T03:00:00Z\n")[2]
    *lines, counted = table.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["+", "default/small/main:"],
        ["-", "team-a/llm-8/worker:"],
        ["-", "team-b/batch-1/worker"],
    ]
    assert counted == "1 to add, 0 to change, 2 to drop."
    named = cli(*PLAN[:2], "none.yaml", *KEPT, "-o", "name")
    assert named.err.endswith("note: since the last plan: 0 to add, 0 to change, 2 to drop\n")
    assert cli(*PLAN[:2], "none.yaml", *KEPT, "-q", "-o", "name").err == ""


def test_steps_that_were_taken_since_are_done_and_not_dropped(cli: Cli) -> None:
    cli(*PLAN, *KEPT)
    (node,) = {item["node"] for item in json.loads(Path("last.json").read_text())["evictions"]}
    gone = next(line for line in SNAPSHOT.splitlines(keepends=True) if f"node: {node}," in line)
    Path("snap.yaml").write_text(SNAPSHOT.replace(gone, "").replace("count: 2\n", "count: 1\n"))
    done = cli(*PLAN, *KEPT)
    assert "\n  = team-b/batch-1/worker b-" in done.out
    assert "\n0 to add, 0 to change, 0 to drop, 1 done." in done.out


def test_the_plan_itself_says_what_is_new_gone_and_changed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = json.loads(cli(*PLAN, *KEPT, "-o", "json").out)
    assert "sinceLastPlan" not in first
    Path("jobs.yaml").write_text((JOBS + HELD_JOB).replace("count: 2,", "count: 1,"))
    done = cli(*PLAN, *KEPT, "-o", "json", "--log-format", "json")
    since = json.loads(done.out)["sinceLastPlan"]
    assert since["lastPlan"] == first["metadata"]["planId"]
    assert since["lastCapturedAt"] == "2026-09-01T03:00:00Z"
    assert [line.split()[0] for line in since["new"]] == ["default/small/main:"]
    assert [line.split()[0].rstrip(":") for line in since["gone"]] == [
        "team-a/llm-8/worker",
        "team-b/batch-1/worker",
    ]
    told = [json.loads(line) for line in done.err.splitlines()]
    (event,) = [each for each in told if each["event"] == "difference"]
    assert event["steps"] == {"new": since["new"], "gone": since["gone"], "done": [], "changed": []}
    Path("plan.json").write_text(done.out)
    assert "1 to add, 0 to change, 2 to drop." in cli("show", "plan.json").out
    assert cli("verify", "snap.yaml", "jobs.yaml", "plan.json").code == 0
    solve_nothing(monkeypatch)
    again = json.loads(cli(*PLAN, *KEPT, "-o", "json").out)
    assert "sinceLastPlan" not in again, "given again, it differs from nothing"


def test_a_plan_that_was_ended_early_says_how_it_differs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = json.loads(cli(*PLAN, *KEPT, "-o", "json").out)
    monkeypatch.setattr("kantopt.planning.solving.run.SMALL", 0.0)  # as if judging took its time
    plan = json.loads(cli(*PLAN, *KEPT, "--time-limit", "1ms", "-o", "json").out)
    assert plan["solver"]["status"] == "UNKNOWN"
    assert plan["sinceLastPlan"]["lastPlan"] == first["metadata"]["planId"]
    assert plan["sinceLastPlan"]["gone"]
    Path("plan.json").write_text(json.dumps(plan))
    assert cli("verify", "snap.yaml", "jobs.yaml", "plan.json").code == 0


HELD_JOB = """\
- name: small
  podSets:
  - {count: 1, requests: {cpu: 1}}
"""


@pytest.mark.parametrize("text", [SNAPSHOT, "no plan", "{}", "[1]", "kind: Plan"])
def test_what_is_no_plan_is_not_replaced(cli: Cli, text: str) -> None:
    Path("last.json").write_text(text)
    done = cli(*PLAN, *KEPT)
    assert done.code == 65
    assert "expected a plan, or no such file yet" in done.err
    assert "found Plan," not in done.err
    assert "None" not in done.err
    assert Path("last.json").read_text() == text


def test_a_run_that_had_no_time_to_look_leaves_the_last_plan(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kantopt.planning.solving.run.SMALL", 0.0)  # as if judging took its time
    assert cli(*PLAN, *KEPT, "--time-limit", "1ms").code == 3
    assert json.loads(Path("last.json").read_text())["solver"]["status"] == "UNKNOWN"
    cli(*PLAN, *KEPT)
    kept = Path("last.json").read_bytes()
    done = cli(*PLAN, *KEPT, "--time-limit", "1ms", "-O", "plan.json")
    assert "UNKNOWN" in done.out
    assert Path("last.json").read_bytes() == kept != Path("plan.json").read_bytes()


def test_an_empty_file_is_no_last_plan(cli: Cli) -> None:
    Path("last.json").touch()
    assert cli(*PLAN, *KEPT).code == 0
    assert json.loads(Path("last.json").read_text())["kind"] == "Plan"


@pytest.mark.parametrize(
    ("old", "new"), [('"placedJobs"', '"placed"'), ('"placedJobs": 1', '"placedJobs": 2')]
)
def test_a_plan_of_another_make_is_replaced(cli: Cli, old: str, new: str) -> None:
    cli(*PLAN, *KEPT)
    whole = Path("last.json").read_text()
    Path("last.json").write_text(whole.replace(old, new))
    done = cli(*PLAN, *KEPT)
    assert done.code == 0
    assert "warning: the last plan cannot be used" in done.err
    assert Path("last.json").read_text() == whole


def test_a_run_that_had_no_time_to_look_leaves_the_plan_in_its_file(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("plan", "snap.yaml", "jobs.yaml", "-O", "plan.json")
    assert cli(*asked).code == 0
    kept = Path("plan.json").read_bytes()
    monkeypatch.setattr("kantopt.planning.solving.run.SMALL", 0.0)  # as if judging took its time
    done = cli(*asked, "--time-limit", "1ms")
    assert Path("plan.json").read_bytes() == kept
    assert done.code == 3
    assert "plan.json: left as it was: nothing was examined" in done.err
    assert done.out.startswith("Nothing was examined; ")
    assert [word for word in ("best plan", "OBJECTIVE") if word in done.out] == []


def test_a_run_that_is_interrupted_before_it_has_found_a_step_leaves_the_plan_in_its_file(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("plan", "snap.yaml", "jobs.yaml", "-O", "plan.json").code == 0
    kept = Path("plan.json").read_bytes()
    real = planning.make_plan

    def nothing_yet(*args: Any, **more: Any) -> planning.Result:
        made = real(*args, **more)
        args[3].stop.signal = signal.SIGINT
        solver = made.plan.solver.model_copy(update={"status": "FEASIBLE"})
        return replace(made, plan=made.plan.model_copy(update={"solver": solver}))

    monkeypatch.setattr("kantopt.planning.plan.make_plan", nothing_yet)
    done = cli("plan", "snap.yaml", "-O", "plan.json")  # nothing is to be done
    assert done.code == 130
    assert Path("plan.json").read_bytes() == kept
    assert "plan.json: left as it was: nothing was found yet" in done.err
    assert done.out.startswith("Nothing was found to do"), "that is no verdict"
