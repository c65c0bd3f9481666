"""Runs that are interrupted: what is drawn, what counts as a fault, and a few real trials."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kantopt.cli.endings import run
from kantopt.errors import BadDataError
from kantopt.report.blocks import Paragraph, Screen, render
from kantopt.schema.dump import dump_yaml
from kantopt.schema.extends import load_model
from scripts.bench import gangs, interruptions
from scripts.bench.command import main
from scripts.bench.drawn import Drawn, draw
from scripts.bench.interrupted import Ended, Moment, Phase, run_interrupted
from scripts.bench.interruptions import (
    SEARCHING,
    Trial,
    run_trial,
    run_trials,
    trial_blocks,
)
from scripts.bench.measure import read_plan
from scripts.bench.row import to_cells
from scripts.bench.table import append_line, begin_lines
from tests.campaign import some

TRIAL = Trial(
    number=3,
    way="SIGTERM",
    phase="search",
    instance="priority-matters n08-p4-k4-u100 7",
    nodes=8,
    model="placement-first",
    engine="auto",
    limit_seconds=2.0,
    memory_mib=None,
    at_seconds=1.0,
    after_seconds=0.25,
    exit_code=143,
    base_mib=90,
    peak_mib=110,
    status="FEASIBLE",
    verified="yes",
    faults="",
)


def small(number: int, **changes: Any) -> Drawn:
    """A trial on a small instance under a short limit."""
    return replace(draw(number), limit_seconds=2.0, **changes)


@pytest.mark.parametrize("number", some(range(48)))
def test_a_run_that_is_interrupted_leaves_a_plan_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    # How soon it ends is for the campaign to say: other work on the machine is no fault of it.
    monkeypatch.setattr(interruptions, "_MOST_SECONDS_TO_END", 60.0)
    trial = run_trial(small(number))
    before = trial.phase in ("reading", "fast") and trial.exit_code in (130, 143)
    assert trial.faults == ""
    assert trial.verified in (("yes", "early") if before else ("yes",))


def test_the_same_number_is_the_same_trial(tmp_path: Path) -> None:
    drawn = draw(5), draw(5)
    texts = []
    for each, name in zip(drawn, ("first", "again"), strict=True):
        (tmp_path / name).mkdir()
        texts.append([path.read_text() for path in each.asked.write(tmp_path / name)])
    assert texts[0] == texts[1]
    first, again = (replace(each, asked=replace(each.asked, write=tuple)) for each in drawn)
    assert first == again


def test_all_kinds_of_instances_are_drawn() -> None:
    names = {draw(number).asked.instance for number in range(100)}
    assert {name.split()[0] for name in names} == {"priority-matters", "gangs", "quickstart"}
    assert len(names) > 90


def test_most_trials_interrupt_the_solver() -> None:
    moments = [draw(number).moment for number in range(200)]
    searching = [m for m in moments if m is None or m.event == "search"]
    assert len(searching) >= 150
    assert sum(m is not None and m.event == "search" and m.seconds < 0.2 for m in moments) >= 50


def test_what_is_not_as_documented_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: object) -> Ended:
        lines = ("Traceback (most recent call last):",)
        return Ended("search", 1.0, 9.0, 1, 90, 400, lines, left=1)

    monkeypatch.setattr(interruptions, "run_interrupted", ended)
    faults = run_trial(small(2)).faults  # SIGINT
    for said in ("exit code 1 of 130", "no plan", "Traceback", "1 processes left", "9.0 of 5 sec"):
        assert said in faults
    assert "400 of 120 MiB" in run_trial(small(1, memory_mib=120)).faults


def test_a_signal_before_there_was_an_answer_leaves_no_plan_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "interrupted by SIGINT before there was an answer: nothing is written"

    def ended(*_: object) -> Ended:
        return Ended(next(phases), 1.0, 0.1, 130, 90, 100, (said,), left=0)

    phases: Iterator[Phase] = iter(("reading", "fast", "search"))
    monkeypatch.setattr(interruptions, "run_interrupted", ended)
    for _ in range(2):
        trial = run_trial(small(2))
        assert (trial.verified, trial.faults) == ("early", "")
    assert "no plan" in run_trial(small(2)).faults


def test_a_run_that_was_over_when_the_signal_came_has_no_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_open(path: Path) -> tuple[Any, str]:
        plan, note = read_plan(path)
        assert plan is not None
        solver = plan.solver.model_copy(update={"status": "FEASIBLE"})
        return plan.model_copy(update={"solver": solver}), note

    def ended_at(seconds: float) -> str:
        def ended(arguments: list[str], *_: object) -> Ended:
            assert run(["plan", *arguments, "-q"]) == 0
            return Ended("search", seconds, 0.01, 0, 90, 110, (), left=0)

        monkeypatch.setattr(interruptions, "run_interrupted", ended)
        monkeypatch.setattr(interruptions, "read_plan", read_open)
        return run_trial(small(0, way="SIGINT", memory_mib=None)).faults

    assert ended_at(1.9) == ""
    assert "exit code 0 of 130" in ended_at(1.0)


def test_a_memory_limit_counts_where_it_ended_the_search() -> None:
    trial = run_trial(replace(draw(9), memory_mib=100, limit_seconds=60.0))
    assert trial.phase in interruptions.SEARCHING
    assert trial.faults == ""


def test_a_run_that_had_no_time_to_look_ends_with_3() -> None:
    def write(folder: Path) -> tuple[Path, ...]:
        made = gangs.kant(1024, 0.85, 1, None)
        model = folder / "model.json"
        model.write_text(dump_yaml(load_model("mixed")))
        return (*made.write(folder), model)

    asked = replace(draw(2).asked, write=write)
    never = Moment("search", 60.0)
    trial = run_trial(replace(draw(2), asked=asked, limit_seconds=0.01, moment=never))
    assert (trial.status, trial.exit_code, trial.faults) == ("UNKNOWN", 3, "")


def test_a_moment_that_never_comes_interrupts_nothing(tmp_path: Path) -> None:
    ended = run_interrupted(["missing.yaml"], "SIGINT", Moment("search", 0.0), tmp_path)
    assert (ended.phase, ended.exit_code, ended.left) == ("finished", 66, 0)
    assert "missing.yaml" in ended.complaints[0]


def test_trials_are_counted_by_where_the_run_was() -> None:
    trials = [TRIAL, replace(TRIAL, phase="improved"), replace(TRIAL, faults="no plan")]
    summary, _ = trial_blocks(trials)
    assert isinstance(summary, Paragraph)
    assert summary.style == "bad"
    assert summary.text.startswith("3 trials, 3 while the solver ran, 2 of them before")
    assert "SIGTERM" in render(trial_blocks(trials), Screen())


def test_rows_go_to_a_file_with_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    for _ in range(2):
        begin_lines(path, interruptions.COLUMNS)
        append_line(path, to_cells(TRIAL, interruptions.COLUMNS))
    header, first, second = path.read_text().splitlines()
    assert header.split(",")[:3] == ["number", "way", "phase"]
    assert first == second
    assert first.startswith("3,SIGTERM,search,")
    path.write_text("a,b\n")
    with pytest.raises(BadDataError, match="other columns"):
        begin_lines(path, interruptions.COLUMNS)


def test_the_command_tells_faults_and_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = iter(("", "no plan"))
    monkeypatch.setattr(
        interruptions, "run_trial", lambda _: replace(TRIAL, faults=next(faults, ""))
    )
    out = tmp_path / "trials.csv"
    assert main(["interruptions", "--trials", "2", "--out", str(out)]) == 1
    captured = capsys.readouterr()
    assert captured.err == "kantopt: error: trial 3 (SIGTERM): no plan\n"
    assert "2 trials" in captured.out
    assert len(out.read_text().splitlines()) == 3
    assert main(["interruptions", "--trials", "1"]) == 0


def test_ctrl_c_reaches_runs_though_it_is_ignored_here() -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from scripts.bench import interruptions as i\n"
        "i.run_trial = lambda _: print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n"
        "i.run_trials([0], 1, lambda _: None)\n"
        "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_phases_of_the_solver_are_those_that_are_counted() -> None:
    assert SEARCHING == ("search", "improved")
    told: list[Trial] = []
    run_trials([], 1, told.append)
    assert told == []
