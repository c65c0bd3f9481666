"""How a run ends: each exit code, one clear line, and nothing half-written."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kantopt.cli import endings
from tests.cli.conftest import SNAPSHOT, Cli, finish, start


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


PRICES = ("plan", "snap.yaml", "jobs.yaml", "--for", "team-a/llm-8", "--clear", "rack")
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]

USAGE = {
    "no such option": ("plan", "snap.yaml", "--no-such"),
    "no such command": ("plam",),
    "no file": ("plan",),
    "no such engine": ("plan", "snap.yaml", "--engine", "slow"),
    "no such strategy": ("plan", "snap.yaml", "--strategy", "worst-fit"),
    "no such model": ("plan", "snap.yaml", "-m", "trainig"),
    "no such model to print": ("models", "trainig"),
    "no such format": ("plan", "snap.yaml", "-o", "xml"),
    "no duration": ("plan", "snap.yaml", "--time-limit", "soon"),
    "no time at all": ("plan", "snap.yaml", "--time-limit", "0"),
    "a price list to be kept": (*PRICES, "--last-plan", "last.json"),
    "figures of a price list": (*PRICES, "--metrics-file", "kantopt.prom"),
    "a negative duration": ("plan", "snap.yaml", "--time-limit=-1s"),
    "standard input twice": ("plan", "-", "-"),
    "no consumer": ("render", "snap.yaml"),
    "no source": ("convert", "snap.yaml"),
    "a seed that is no number": ("plan", "snap.yaml", "--seed", "x"),
}


@pytest.mark.parametrize("case", list(USAGE))
def test_usage_errors_are_64_and_one_line(cli: Cli, case: str) -> None:
    done = cli(*USAGE[case])
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith("kantopt: error: ")
    assert done.err.count("\n") == 1


def test_no_arguments_show_the_help_on_stderr(cli: Cli) -> None:
    done = cli()
    assert (done.code, done.out) == (64, "")
    assert "Commands:" in done.err


def test_help_and_version_are_answers(cli: Cli) -> None:
    assert cli("--help").code == 0
    assert cli("plan", "-h").out.startswith("Usage: kantopt plan")
    done = cli("--version")
    assert done.code == 0
    assert done.out.startswith("kantopt ")
    assert "ortools 9." in done.out
    assert "python 3." in done.out
    assert cli("--version", "plan").out == done.out


@pytest.mark.parametrize("command", ["plan", "verify", "metrics"])
def test_bad_data_is_65_and_writes_nothing(cli: Cli, command: str) -> None:
    Path("bad.yaml").write_text(SNAPSHOT.replace("nodes:", "nods:"))
    done = cli(command, "bad.yaml", "-O", "out.json")
    assert (done.code, done.out) == (65, "")
    assert "did you mean nodes?" in done.err
    assert all(line.startswith("kantopt: error: ") for line in done.err.splitlines())
    assert not Path("out.json").exists()


def test_two_snapshots_are_bad_data(cli: Cli) -> None:
    done = cli("plan", "snap.yaml", "snap.yaml")
    assert done.code == 65


def test_jobs_alone_are_bad_data(cli: Cli) -> None:
    done = cli("plan", "jobs.yaml")
    assert done.code == 65
    assert "ClusterSnapshot" in done.err


@pytest.mark.parametrize("path", ["missing.yaml", "."])
def test_a_missing_file_or_a_folder_is_66(cli: Cli, path: str) -> None:
    done = cli("plan", path)
    assert (done.code, done.out) == (66, "")
    assert done.err.count("\n") == 1


def test_an_input_that_may_not_be_read_is_66(cli: Cli) -> None:
    Path("secret.yaml").write_text(SNAPSHOT)
    Path("secret.yaml").chmod(0)
    if os.access("secret.yaml", os.R_OK):
        pytest.skip("this user may read everything")
    assert cli("plan", "secret.yaml").code == 66


@pytest.mark.parametrize(
    "path", ["missing/plan.json", "missing/", ".", "snap.yaml/", "snap.yaml/plan.json", ""]
)
@pytest.mark.parametrize("command", ["plan", "verify", "metrics", "schema", "models", "render"])
def test_an_output_that_cannot_be_created_is_73_before_any_work(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str, path: str
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("it has read its input")

    monkeypatch.setattr("kantopt.planning.question.read_question", work)
    monkeypatch.setattr("kantopt.planning.document.judge.judge", work)
    arguments = {"schema": ["plan"], "models": [], "render": ["snap.yaml", "--to", "kubectl"]}
    done = cli(command, *arguments.get(command, ["snap.yaml"]), "-O", path)
    assert done.code == 73
    assert "cannot be written" in done.err


def test_an_output_without_permission_is_73(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kantopt.cli.output.os.access", lambda *_: False)
    assert cli("schema", "plan", "-O", "new.json").code == 73
    assert cli("schema", "plan", "-O", "snap.yaml").code == 73
    assert Path("snap.yaml").read_text() == SNAPSHOT


def test_a_full_disk_is_74(cli: Cli) -> None:
    assert cli("schema", "plan", "-O", "/dev/full").code == 74
    with open("/dev/full", "w") as full:
        done = finish(start(["models"], stdout=full))
    assert done.code == 74
    assert done.err == (
        "kantopt: error: standard output: writing failed: no space left on device\n"
    )


def test_a_closed_stderr_stops_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert cli("plan", "snap.yaml", "jobs.yaml", "-v").code == 0
    assert cli("plan", "missing.yaml").code == 66


def broken(error: BaseException) -> Any:
    def judge(*_: object) -> None:
        raise error

    return judge


def test_a_fault_of_ours_is_1_and_names_itself(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kantopt.planning.document.judge.judge", broken(KeyError("lost")))
    done = cli("verify", "snap.yaml")
    assert done.code == 1
    assert done.err == ("kantopt: error: internal error: KeyError: 'lost'; -v shows where\n")
    assert "Traceback" in cli("verify", "snap.yaml", "-v").err


@pytest.mark.parametrize(
    ("error", "code"),
    [(MemoryError(), 71), (KeyboardInterrupt(), 130), (BrokenPipeError(), 141)],
)
def test_other_endings(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    monkeypatch.setattr("kantopt.planning.document.judge.judge", broken(error))
    # What stdout still holds is dropped for good, which would hit the terminal of the tests.
    monkeypatch.setattr(endings, "_drop", lambda _: None)
    done = cli("verify", "snap.yaml")
    assert done.code == code
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_ends_verify_without_a_word(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    def judge(*_: object) -> None:
        os.kill(os.getpid(), number)
        time.sleep(5)

    monkeypatch.setattr("kantopt.planning.document.judge.judge", judge)
    done = cli("verify", "snap.yaml", "-O", "out.json")
    assert (done.code, done.out, done.err) == (code, "", "")
    assert not Path("out.json").exists()


def hard_question() -> None:
    """Write a packing that nobody proves optimal in a minute."""
    rng = random.Random(1)
    nodes = [
        {"name": f"n{i}", "allocatable": {"cpu": 64, "memory": "512Gi", "nvidia.com/gpu": 8}}
        for i in range(24)
    ]
    jobs = [
        {
            "name": f"j{i}",
            "podSets": [
                {
                    "count": 1,
                    "requests": {
                        "cpu": rng.randint(9, 33),
                        "memory": f"{rng.randint(70, 260)}Gi",
                        "nvidia.com/gpu": rng.randint(1, 5),
                    },
                }
            ],
        }
        for i in range(75)
    ]
    version = "kantopt/v1alpha1"
    snapshot = {"apiVersion": version, "kind": "ClusterSnapshot", "nodes": nodes}
    pending = {"apiVersion": version, "kind": "JobList", "jobs": jobs}
    Path("hard.json").write_text(json.dumps(snapshot) + json.dumps(pending))


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_ends_the_search_and_the_best_plan_is_written(
    cli: Cli, number: signal.Signals, code: int
) -> None:
    hard_question()
    process = start(["plan", "hard.json", "-v", "--time-limit", "10m", "-O", "plan.json"])
    assert process.stderr is not None
    assert process.stderr.readline().startswith("t=")
    process.send_signal(number)
    done = finish(process)
    assert done.code == code, done.err
    assert cli("verify", "hard.json", "plan.json").code == 0
    plan = json.loads(Path("plan.json").read_text())
    assert plan["summary"]["placedPods"] > 20
    assert plan["warnings"][0].startswith(f"interrupted by {number.name}: ")


def test_a_terminal_that_hangs_up_costs_no_file() -> None:
    hard_question()
    ours, theirs = pty.openpty()
    kept = ["--last-plan", "last.json", "--metrics-file", "kantopt.prom", "-v"]
    process = start(["plan", "hard.json", "--time-limit", "10m", *kept], stdout=theirs)
    os.close(theirs)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("t=")
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    done = finish(process)
    assert done.code == 129, done.err
    said = json.loads(Path("last.json").read_text())["warnings"]
    assert said[0] == "interrupted by SIGHUP: this is the best plan so far"
    assert "kantopt_last_run_exit_code 129" in Path("kantopt.prom").read_text()


def test_a_second_signal_quits(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def make_plan(*given: Any, **__: object) -> None:
        given[3].stop.begin()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    monkeypatch.setattr("kantopt.planning.plan.make_plan", make_plan)
    done = cli("plan", "snap.yaml", "jobs.yaml", "-O", "plan.json")
    assert (done.code, done.out, done.err) == (130, "", "")
    names = ["huge.yaml", "jobs.yaml", "none.yaml", "snap.yaml"]
    assert sorted(path.name for path in Path().iterdir()) == names


def test_a_time_limit_that_is_over_at_once_writes_the_null_plan_of_a_large_question(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kantopt.planning.solving.run.SMALL", 0.0)  # as if judging took its time
    done = cli("plan", "snap.yaml", "jobs.yaml", "--time-limit", "1ms", "-O", "plan.json")
    assert done.code == 3, "a shell's && does not go on with it"
    assert done.out.startswith("Nothing was examined; 1 job")
    assert cli("verify", "snap.yaml", "jobs.yaml", "plan.json").code == 0


def test_a_misspelt_field_is_the_only_complaint(cli: Cli) -> None:
    Path("bad.yaml").write_text(SNAPSHOT.replace("nodes:", "nods:"))
    done = cli("plan", "bad.yaml", "jobs.yaml")
    assert done.code == 65
    assert "among the files" not in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("convert", "snap.yaml", "--from", "nomad"),
            "kantopt: error: Invalid value for '--from': 'nomad' is not one of 'kubernetes', "
            "'openb', 'slurm', 'vm-rescheduling', 'kalos', 'openb-trace', 'philly', 'swf'. "
            "(see kantopt convert --help)\n",
        ),
        (
            ("plan", "snap.yaml", "--engine", "slow"),
            "kantopt: error: Invalid value for '--engine': 'slow' is not one of 'auto', 'fast', "
            "'exact'. (see kantopt plan --help)\n",
        ),
    ],
)
def test_a_wrong_word_is_told_with_those_there_are(
    cli: Cli, arguments: tuple[str, ...], said: str
) -> None:
    assert cli(*arguments).err == said


def test_a_pattern_that_matches_no_pending_pod_is_a_usage_error(cli: Cli) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "a"},
        "spec": {"containers": []},
    }
    Path("k.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}))
    for command in (("plan", "k.json"), ("convert", "k.json", "--from", "kubernetes")):
        done = cli(*command, "--pending", "nothing/*")
        assert (done.code, done.out) == (64, "")
        said = "kantopt: error: --pending nothing/*: no pending pod or job matches\n"
        assert done.err == said


def test_a_job_of_two_files_is_told_with_both(cli: Cli) -> None:
    done = cli("plan", "snap.yaml", "jobs.yaml", "jobs.yaml")
    assert done.code == 65
    first = done.err.splitlines()[0]
    assert first.startswith("kantopt: error: jobs.yaml: jobs[0].name: found the job ")
    assert " again, expected it once, as in jobs.yaml: jobs[0] (line 4, column 3)" in first


@pytest.mark.parametrize("command", ["plan", "certify"])
def test_a_required_job_that_is_none_is_an_option_gone_wrong(cli: Cli, command: str) -> None:
    done = cli(command, "snap.yaml", "jobs.yaml", "--require", "llm-9")
    assert done.code == 64
    assert "--require: found llm-9, expected a job (did you mean llm-8?)" in done.err


def test_an_output_may_be_a_pipe_of_this_process(cli: Cli) -> None:
    reading, writing = os.pipe()
    try:
        assert cli("models", "mixed", "-O", f"/dev/fd/{writing}").code == 0
        assert os.read(reading, 100_000).startswith(b"apiVersion: kantopt/")
    finally:
        os.close(reading)
        os.close(writing)


def test_dev_stdout_is_standard_output_and_never_replaced(tmp_path: Path) -> None:
    with open(tmp_path / "out", "w") as out:
        assert finish(start(["models", "mixed", "-O", "/dev/stdout"], stdout=out)).code == 0
        out.write("and more\n")
    text = (tmp_path / "out").read_text()
    assert text.startswith("apiVersion: kantopt/")
    assert "and more" in text


def test_help_of_all_commands_ends_its_sentences(cli: Cli) -> None:
    assert "..." not in cli("--help").out.partition("Commands:")[2]
