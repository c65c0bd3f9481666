"""What the command line loads, and that its own lists of names are those of the house."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import typer

from kantopt import __main__
from kantopt.cli import options, trace
from kantopt.planning import convert, convert_trace
from kantopt.planning.solving import options as planning_options
from kantopt.search.strategy import Strategy
from kantopt.simulate.workload import arrivals
from kantopt.simulate.workload.acme import PROFILES
from tests.cli.conftest import ROOT, environment

HEAVY = ("numpy", "ortools", "networkx", "pydantic")


def loaded(*arguments: str, heavy: tuple[str, ...], folder: Path) -> str:
    code = (
        "import sys; from kantopt.cli.endings import run; code = run(sys.argv[2:]); "
        "print(code, *sorted(set(sys.argv[1].split(',')) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, ",".join(heavy), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(),
        timeout=60,
        check=True,
    )
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_and_version_load_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    assert loaded(*arguments, heavy=(*HEAVY, "rich", "yaml"), folder=tmp_path) == "0"


def test_the_help_of_a_command_loads_no_solver(tmp_path: Path) -> None:
    # Typer reads the options of a command with pydantic, so that one is there.
    heavy = ("numpy", "ortools", "networkx", "rich", "yaml")
    assert loaded("plan", "--help", heavy=heavy, folder=tmp_path) == "0"


@pytest.mark.parametrize("command", ["verify", "metrics"])
def test_judging_and_measuring_need_no_solver(files: Path, command: str) -> None:
    assert loaded(command, "snap.yaml", "jobs.yaml", heavy=("ortools",), folder=files) == "0"


def test_the_installed_command_returns_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kantopt", "--version"])
    assert __main__.main() == 0
    assert capsys.readouterr().out.startswith("kantopt ")
    monkeypatch.setattr("kantopt.cli.endings.run", interrupted)
    assert __main__.main() == 130


def interrupted(_: object) -> int:
    raise KeyboardInterrupt


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kantopt", "--version"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("kantopt ")


def test_options_offer_what_there_is() -> None:
    assert {item.value for item in options.Strategy} == {item.value for item in Strategy}
    assert set(get_args(options.Engine)) == set(get_args(planning_options.Engine))
    sources = (*get_args(convert.Source), *get_args(convert_trace.TraceSource))
    assert set(get_args(options.Source)) == set(sources)
    assert set(get_args(trace.Profile)) == set(PROFILES)
    assert set(get_args(trace.Arrivals)) == set(get_args(arrivals.Arrivals))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("500ms", 0.5),
        ("2m", 120),
        ("1m30s", 90),
        ("1.5", 1.5),
        ("7", 7),
        ("1h", 3600),
        ("2d", 172_800),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert options.parse_duration(text) == pytest.approx(seconds)


def test_times_of_traces_are_longer_than_anybody_waits() -> None:
    assert options.parse_trace_time("200d") == 200 * 86_400
    with pytest.raises(typer.BadParameter, match="less than 115d"):
        options.parse_duration("200d")
    with pytest.raises(typer.BadParameter, match="less than 11574d"):
        options.parse_trace_time("20000d")
