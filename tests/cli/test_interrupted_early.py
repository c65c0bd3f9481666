"""A signal that comes before there is an answer: the run ends at once and writes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from kantopt.planning import plan, question
from kantopt.problem.build import build_instance
from kantopt.simulate import runs as simulate_runs
from kantopt.simulate.world import build_world
from tests.cli.conftest import Cli

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
SEARCHES = [
    ("plan", "snap.yaml", "jobs.yaml"),
    ("plan", "snap.yaml", "jobs.yaml", "--for", "team-a/llm-8", "--clear", "rack"),
    ("defrag", "snap.yaml", "--goal", "empty-nodes"),
    ("drain", "gpu-001", "-f", "snap.yaml"),
    ("certify", "snap.yaml"),
    ("capacity", "snap.yaml", "jobs.yaml"),
    ("explain", "snap.yaml", "jobs.yaml", "--job", "llm-8"),
]


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


def signalled(monkeypatch: pytest.MonkeyPatch, number: int, *, dropped: bool = False) -> None:
    """Send a signal while the question is built, which then takes for ever."""
    pid = os.getpid()  # of the command, whoever builds

    def build(*given: Any, **more: Any) -> object:
        with contextlib.suppress(BaseException if dropped else ()):
            os.kill(pid, number)
            time.sleep(0 if dropped else 30)
        return build_instance(*given, **more)

    monkeypatch.setattr(question, "build_instance", build)


@pytest.mark.parametrize("arguments", SEARCHES, ids=" ".join)
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_before_there_is_an_answer_ends_a_run_at_once(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    number: signal.Signals,
    code: int,
) -> None:
    Path("out.json").write_text("as it was")
    signalled(monkeypatch, number)
    began, before = time.monotonic(), sorted(Path().iterdir())
    done = cli(*arguments, "-O", "out.json")
    assert (done.code, done.out) == (code, "")
    words = f"interrupted by {number.name} before there was an answer: nothing is written"
    assert done.err == f"kantopt: error: {words}\n"
    assert sorted(Path().iterdir()) == before
    assert Path("out.json").read_text() == "as it was"
    assert time.monotonic() - began < 20


def test_a_run_that_has_lost_the_signal_ends_before_it_begins_to_plan(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled code drops what is raised in it now and then."""
    signalled(monkeypatch, signal.SIGTERM, dropped=True)
    done = cli("plan", "snap.yaml", "jobs.yaml", "-O", "out.json")
    assert (done.code, done.out, Path("out.json").exists()) == (143, "", False)
    assert done.err.count("interrupted by SIGTERM before there was an answer") == 1


def test_a_signal_once_the_question_is_there_has_a_plan_written(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judging that nothing is done may take long, where there are thousands of objectives."""

    class Interrupted(plan.Run):
        def __init__(self, *given: Any, **named: Any) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            super().__init__(*given, **named)

    monkeypatch.setattr(plan, "Run", Interrupted)
    done = cli("plan", "snap.yaml", "jobs.yaml", "-o", "json")
    assert done.code == 143
    assert "interrupted by SIGTERM" in " ".join(json.loads(done.out)["warnings"])


@pytest.mark.parametrize("more", [(), ("--warm-up", "1s")], ids=["", "warm-up"])
@pytest.mark.parametrize("runs", [0, 1])
def test_a_simulation_that_has_only_begun_shows_the_runs_before(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, runs: int, more: tuple[str, ...]
) -> None:
    """There is nothing to measure of who has seen no time pass."""
    built = list[str]()

    def build(*given: Any, **named: Any) -> object:
        built.append(named["name"])
        if len(built) > runs:
            os.kill(os.getpid(), signal.SIGTERM)
        return build_world(*given, **named)

    monkeypatch.setattr(simulate_runs, "build_world", build)
    trace = "- {name: a, arrival: 0s, duration: 9s, podSets: [{count: 1, requests: {cpu: 1}}]}\n"
    Path("t.yaml").write_text(f"apiVersion: kantopt/v1alpha1\nkind: Trace\njobs:\n{trace}")
    policies = ["--policy", "fifo", "--policy", "fgd"]
    done = cli("simulate", "snap.yaml", "t.yaml", *policies, *more)
    assert done.code == 143
    if runs:
        assert "interrupted; simulated 1 of 2 runs, so far: fifo" in done.out
    else:
        assert done.err.endswith("before there was an answer: nothing is written\n")


def test_the_metrics_of_a_scheduled_run_say_how_it_ended(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    signalled(monkeypatch, signal.SIGTERM)
    kept = ["--last-plan", "last.json", "--metrics-file", "kantopt.prom"]
    assert cli("plan", "snap.yaml", "jobs.yaml", *kept).code == 143
    assert "kantopt_last_run_exit_code 143" in Path("kantopt.prom").read_text()
    assert not Path("last.json").exists()
