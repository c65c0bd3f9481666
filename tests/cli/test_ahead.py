"""The solver's process is started before the options are read, and never left behind."""

from __future__ import annotations

import os
import signal

import pytest

from kantopt.cli.ahead import solver_ahead
from kantopt.cli.endings import run
from kantopt.planning.solving.solver_process import SolverProcess
from tests.processes import children


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["verify", "plan.json"],
        ["plan", "-h"],
        ["plan", "snap.yaml", "--engine", "fast"],
        ["plan", "snap.yaml", "--engine=fast"],
    ],
)
def test_no_process_where_nothing_is_searched(arguments: list[str]) -> None:
    assert solver_ahead(arguments) is None


@pytest.mark.parametrize("command", ["plan", "defrag", "certify"])
def test_commands_that_search_have_theirs_at_once(command: str) -> None:
    process = solver_ahead([command, "snap.yaml"])
    assert process is not None
    with process:
        assert process.message(0.0) is None
    process.close()  # the command has done so before


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--no-such-option"], 64), (["no-such-file.yaml"], 66)]
)
def test_a_run_that_fails_leaves_no_process_behind(
    arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = children()
    assert run(["plan", *arguments]) == code
    assert "no such" in capsys.readouterr().err.lower().replace("-", " ")
    assert children() == before


def test_a_signal_that_comes_as_the_process_begins_ends_it_without_a_word(
    capfd: pytest.CaptureFixture[str],
) -> None:
    process = SolverProcess()
    os.kill(process.pid or 0, signal.SIGTERM)
    message = process.message(30.0)
    process.close()
    assert "signal SIGTERM" in str(message)
    assert capfd.readouterr().err == ""
