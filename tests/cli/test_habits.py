"""Runs that nobody watches: one at a time, on fresh data, nothing solved twice."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from kantopt.clock import utc_now
from kantopt.errors import UsageError
from tests.cli.conftest import JOBS, SNAPSHOT, Cli

PLAN = ("plan", "snap.yaml", "jobs.yaml", "--engine", "fast")
KEPT = ("--last-plan", "last.json")
FIGURES = ("--metrics-file", "kantopt.prom")


@pytest.fixture(autouse=True)
def _at_three(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of these run in the folder, five minutes after the snapshot."""
    at(monkeypatch, "03:05")


def at(monkeypatch: pytest.MonkeyPatch, time: str) -> None:
    """Fake the clock."""
    monkeypatch.setenv("KANTOPT_NOW", f"2026-09-01T{time}:00Z")


def solve_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test fail if anything is planned from now on."""
    monkeypatch.setattr("kantopt.planning.plan.make_plan", lambda *_: pytest.fail("it has planned"))


def figures() -> dict[str, float]:
    """Samples of the metrics file; every line of it is of the text format."""
    samples = {}
    for line in Path("kantopt.prom").read_text().splitlines():
        if line.startswith("# "):
            assert re.fullmatch(r"# (HELP kantopt_\w+ \S.*|TYPE kantopt_\w+ gauge)", line)
        else:
            match = re.fullmatch(r'(kantopt_\w+(?:\{\w+=".*"(?:,\w+=".*")*\})?) ([-+.e\d]+)', line)
            assert match, line
            samples[match[1]] = float(match[2])
    return samples


def test_a_held_lock_is_75_and_says_who_holds_it(cli: Cli) -> None:
    with open("run.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        who = {"pid": os.getpid(), "host": os.uname().nodename, "since": "2026-09-01T03:01:00Z"}
        held.write(json.dumps(who))
        held.flush()
        done = cli(*PLAN, "--lock-file", "run.lock", *FIGURES, *KEPT)
        assert done.code == 75
        assert done.out == ""
        said = f"run.lock: locked by pid {os.getpid()} since 2026-09-01T03:01:00Z\n"
        assert done.err == f"kantopt: error: {said}"
        assert sorted(os.listdir()) == [
            "huge.yaml",
            "jobs.yaml",
            "none.yaml",
            "run.lock",
            "snap.yaml",
        ]
    assert cli(*PLAN, "--lock-file", "run.lock").code == 0


def test_a_lock_says_nothing_of_a_run_that_is_dead(cli: Cli) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    with open("run.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write(json.dumps({"pid": pid, "host": os.uname().nodename, "since": "then"}))
        held.flush()
        done = cli(*PLAN, "--lock-file", "run.lock")
    assert "run.lock: locked by another process, which does not say who it is" in done.err


def test_a_lock_is_free_after_an_error_and_says_nothing_then(cli: Cli) -> None:
    assert cli("plan", "missing.yaml", "--lock-file", "run.lock").code == 66
    assert Path("run.lock").read_text() == ""
    assert cli(*PLAN, "--lock-file", "run.lock").code == 0


@pytest.mark.parametrize("path", ["missing/run.lock", "."])
def test_a_lock_that_cannot_be_made_is_73(cli: Cli, path: str) -> None:
    assert cli(*PLAN, "--lock-file", path).code == 73


@pytest.mark.parametrize(
    ("time", "code", "said"),
    [
        ("03:14", 0, ""),
        ("03:16", 65, "found 2026-09-01T03:00:00Z, 16m ago"),
        ("02:44", 65, "found 2026-09-01T03:00:00Z, 16m from now"),
    ],
)
def test_a_snapshot_may_be_too_old(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, time: str, code: int, said: str
) -> None:
    at(monkeypatch, time)
    done = cli(*PLAN, "--max-snapshot-age", "15m")
    assert done.code == code
    assert said in done.err


def test_a_snapshot_of_unknown_age_is_refused(cli: Cli) -> None:
    Path("snap.yaml").write_text(SNAPSHOT.replace(', capturedAt: "2026-09-01T03:00:00Z"', ""))
    done = cli(*PLAN, "--max-snapshot-age", "15m")
    assert done.code == 65
    assert "snap.yaml: metadata.capturedAt: found nothing, expected a moment at most 15m" in (
        done.err
    )


@pytest.mark.parametrize("told", ["soon", "2026-09-01", "2026-09-01T03:00:00"])
def test_a_faked_clock_must_show_a_time(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.setenv("KANTOPT_NOW", told)
    with pytest.raises(UsageError):
        utc_now()
    for form in ("text", "json"):
        done = cli(*PLAN, "--log-format", form)
        assert done.code == 64
        assert "KANTOPT_NOW" in done.err


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


def test_work_that_would_be_lost_by_now_is_another_question(cli: Cli) -> None:
    young = SNAPSHOT.replace("  movable: false", YOUNG)
    Path("snap.yaml").write_text(young)
    cli(*PLAN, *KEPT)
    Path("snap.yaml").write_text(young.replace("T03:00:00Z", "T03:10:00Z"))
    assert "NO CHANGE" not in cli(*PLAN, *KEPT).out


YOUNG = """\
  movable: false
  startTime: "2026-09-01T02:59:00Z"
  minRuntime: 20m"""


def test_a_run_that_was_ended_early_is_no_answer_for_the_next(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kantopt.cli.progress import Progress

    reach = Progress.reach

    def interrupted(self: Progress, event: str) -> None:
        reach(self, event)
        if event == "planning":
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "reach", interrupted)
        assert cli(*PLAN, *KEPT).code == 143
    assert "questionDigest" not in json.loads(Path("last.json").read_text())["metadata"]
    assert "NO CHANGE" not in cli(*PLAN, *KEPT).out


def test_what_is_new_gone_and_changed_is_told(cli: Cli) -> None:
    cli(*PLAN, *KEPT)
    more = JOBS + HELD_JOB
    Path("jobs.yaml").write_text(more.replace("count: 2,", "count: 1,"))
    done = cli(*PLAN, *KEPT)
    table = done.out.partition("SINCE THE LAST PLAN, made for 2026-09-01T03:00:00Z\n")[2]
    assert [line.split()[:2] for line in table.splitlines()] == [
        ["new", "default/small/main:"],
        ["gone", "team-a/llm-8/worker:"],
        ["gone", "team-b/batch-1/worker"],
    ]
    named = cli(*PLAN[:2], "none.yaml", *KEPT, "-o", "name")
    assert named.err.endswith("note: since the last plan: 0 new, 2 gone, 0 changed\n")
    assert cli(*PLAN[:2], "none.yaml", *KEPT, "-q", "-o", "name").err == ""


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
    assert Path("last.json").read_text() == text


def test_a_run_that_had_no_time_to_look_leaves_the_last_plan(cli: Cli) -> None:
    assert cli(*PLAN, *KEPT, "--time-limit", "1ms").code == 0
    assert json.loads(Path("last.json").read_text())["solver"]["status"] == "UNKNOWN"
    cli(*PLAN, *KEPT)
    kept = Path("last.json").read_bytes()
    done = cli(*PLAN, *KEPT, "--time-limit", "1ms", "-O", "plan.json")
    assert "UNKNOWN" in done.out
    assert Path("last.json").read_bytes() == kept != Path("plan.json").read_bytes()


@pytest.mark.parametrize("option", ["--last-plan", "--metrics-file", "--lock-file"])
def test_what_runs_leave_for_each_other_is_no_stream(cli: Cli, option: str) -> None:
    done = cli(*PLAN, option, "-")
    assert (done.code, done.out) == (64, "")
    assert cli(*PLAN, option, "/dev/null").code == 0


def test_what_killed_runs_have_left_is_swept_up_after_an_hour(cli: Cli) -> None:
    for name, age in ((".kantopt-old", 4000), (".kantopt-new", 100), ("other", 4000)):
        Path(name).touch()
        moment = time.time() - age
        os.utime(name, (moment, moment))
    cli(*PLAN, *KEPT)
    assert {".kantopt-new", "other"} <= set(os.listdir())
    assert ".kantopt-old" not in os.listdir()


def test_an_interrupted_run_is_no_success(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from kantopt.cli.progress import Progress

    cli(*PLAN, *FIGURES)
    at(monkeypatch, "03:30")
    reach = Progress.reach

    def interrupted(self: Progress, event: str) -> None:
        reach(self, event)
        if event == "planning":
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Progress, "reach", interrupted)
    assert cli(*PLAN, *FIGURES).code == 143
    found = figures()
    assert found["kantopt_last_run_exit_code"] == 143
    assert found["kantopt_last_run_timestamp_seconds"] == 1788233400
    assert found["kantopt_last_success_timestamp_seconds"] == 1788231900


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


def test_figures_of_a_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli(*PLAN, *KEPT, *FIGURES, "--detailed-exitcode").code == 5
    found = figures()
    assert found["kantopt_last_run_timestamp_seconds"] == 1788231900
    assert found["kantopt_last_success_timestamp_seconds"] == 1788231900
    assert found["kantopt_last_run_exit_code"] == 5
    assert found["kantopt_snapshot_timestamp_seconds"] == 1788231600
    assert found['kantopt_solver_status{status="FEASIBLE"}'] == 1
    assert found['kantopt_solver_status{status="OPTIMAL"}'] == 0
    assert found['kantopt_objective_gap_ratio{term="moves"}'] == 0
    assert found["kantopt_plan_bindings"] == 2
    assert found["kantopt_plan_evictions"] == 1
    assert found['kantopt_unplaced_workloads{reason="none"}'] == 0
    assert found['kantopt_fragmentation_ratio{pool="none",level="node"}'] == 0.666667
    assert found['kantopt_fragmentation_ratio{pool="none",level="rack"}'] == 1
    assert found['kantopt_recoverable_gpus{pool="none"}'] == 4
    assert found["kantopt_plan_reused"] == 0
    phases = {name for name in found if name.startswith("kantopt_run_duration_seconds{phase=")}
    assert len(phases) == 4
    at(monkeypatch, "03:20")
    assert cli(*PLAN, *KEPT, *FIGURES).code == 0
    again = figures()
    assert again["kantopt_last_success_timestamp_seconds"] == 1788232800
    assert again["kantopt_plan_reused"] == 1
    changing = ("_timestamp_", "_duration_", "_reused", "_exit_code")
    assert {k: v for k, v in again.items() if not any(word in k for word in changing)} == {
        k: v for k, v in found.items() if not any(word in k for word in changing)
    }


def test_a_failed_run_leaves_the_figures_of_the_last_success(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli(*PLAN, *FIGURES)
    before = figures()
    at(monkeypatch, "03:30")
    assert cli(*PLAN, *FIGURES, "--max-snapshot-age", "15m").code == 65
    after = figures()
    assert after.pop("kantopt_last_run_exit_code") == 65
    assert after.pop("kantopt_last_run_timestamp_seconds") == 1788233400
    assert after.items() <= before.items()
    assert len(after) == len(before) - 2


def test_the_first_run_may_fail_too(cli: Cli) -> None:
    assert cli("plan", "missing.yaml", *FIGURES).code == 66
    assert figures() == {
        "kantopt_last_run_timestamp_seconds": 1788231900,
        "kantopt_last_run_exit_code": 66,
    }


@pytest.mark.parametrize("option", ["--last-plan", "--metrics-file"])
def test_files_that_cannot_be_written_are_73_before_any_work(cli: Cli, option: str) -> None:
    done = cli("plan", "missing.yaml", option, "missing/file")
    assert done.code == 73


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (PLAN, 0),
        (("plan", "missing.yaml"), 66),
        (("plan", "snap.yaml", "--no-such"), 64),
        ((*PLAN, "--max-snapshot-age", "1m"), 65),
    ],
)
def test_a_structured_log_is_json_to_the_last_line(
    cli: Cli, arguments: tuple[str, ...], code: int
) -> None:
    for given in (["--log-format", "json"], ["--log-format=json"]):
        done = cli(*arguments, *given, "-o", "json")
        assert done.code == code
        news = [json.loads(line) for line in done.err.splitlines()]
        assert all(each["time"] == "2026-09-01T03:05:00Z" for each in news)
        assert (news[-1]["event"] == "error") is (code != 0)


def test_the_log_tells_of_warnings_and_of_the_difference(cli: Cli) -> None:
    cli(*PLAN, *KEPT)
    Path("last.json").write_text(Path("last.json").read_text().replace('"placedJobs"', '"p"'))
    first = cli(*PLAN, *KEPT, "--log-format", "json")
    news = [json.loads(line) for line in first.err.splitlines()]
    assert [each["event"] for each in news if "message" in each] == ["warning"]
    second = cli(*PLAN, *KEPT, "--log-format", "json", "--seed", "3")
    told = json.loads(second.err.splitlines()[-1])
    assert {k: told[k] for k in ("event", "reused", "new", "gone", "changed")} == {
        "event": "difference",
        "reused": False,
        "new": 0,
        "gone": 0,
        "changed": 0,
    }
