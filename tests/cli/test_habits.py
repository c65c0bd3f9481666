"""Runs that nobody watches: one at a time, on fresh data, telling what they do."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from kantopt.clock import utc_now
from kantopt.errors import UsageError
from kantopt.schema.dump import dump_json
from kantopt.schema.jobs import JobList
from tests.cli.conftest import SNAPSHOT, Cli, start
from tests.cli.scheduled import FIGURES, KEPT, PLAN, at
from tests.questions import hard_question


@pytest.fixture(autouse=True)
def _at_three(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of these run in the folder, five minutes after the snapshot."""
    at(monkeypatch, "03:05")


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


def test_the_lock_ends_with_a_run_that_is_killed_though_its_solver_lives_on() -> None:
    hard = hard_question()
    Path("hard.json").write_text(dump_json(hard.snapshot))
    jobs = JobList(api_version="kantopt/v1alpha1", kind="JobList", jobs=hard.pending)
    Path("hard-jobs.json").write_text(dump_json(jobs))
    files = ["hard.json", "hard-jobs.json", "--lock-file", "run.lock", "--time-limit", "60s"]
    process = start(["plan", *files, "--log-format", "json"])
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line)["event"] == "search":
            break
    with open("run.lock") as held:
        with pytest.raises(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.kill()
        process.wait()
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    process.communicate()


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


@pytest.mark.parametrize(
    ("times", "found"),
    [
        (
            {"creationTimestamp": "2026-09-01T03:00:00Z"},
            "2026-09-01T03:00:00Z, 16m ago, as the newest time in it",
        ),
        ({}, "no time in any object"),
    ],
)
def test_of_a_dump_the_newest_time_is_too_old_or_missing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, times: dict[str, str], found: str
) -> None:
    """It has no capturedAt that anybody could mend, and no line where a time should stand."""
    at(monkeypatch, "03:16")
    dump = Path("dump.json")
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", **times}}
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))
    done = cli("plan", str(dump), "--max-snapshot-age", "15m")
    assert done.code == 65
    expected = "expected a moment at most 15m before 2026-09-01T03:16:00Z\n"
    assert f"dump.json: found {found}, {expected}" in done.err


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
    assert told["steps"] == {"new": [], "gone": [], "done": [], "changed": []}


def test_the_log_has_each_difference_that_the_table_has(cli: Cli) -> None:
    cli(*PLAN, *KEPT)
    Path("jobs.yaml").write_text(
        Path("jobs.yaml").read_text().replace("name: llm-8", "name: llm-9")
    )
    done = cli(*PLAN, *KEPT, "--log-format", "json", "-o", "wide")
    told = json.loads(done.err.splitlines()[-1])
    assert told["new"] == len(told["steps"]["new"]) > 0
    assert told["gone"] == len(told["steps"]["gone"]) > 0
    for mark, key in (("+", "new"), ("-", "gone")):
        for line in told["steps"][key]:
            assert f"  {mark} {line}" in done.out.splitlines()
