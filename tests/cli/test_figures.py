"""The metrics file of scheduled runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.scheduled import FIGURES, KEPT, PLAN, at, figures, terminate_when_planning

PROVED = ("plan", "snap.yaml", "jobs.yaml", "--workers", "1")
"""With the exact engine: only a plan that is proved stands for the next run."""


@pytest.fixture(autouse=True)
def _at_three(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of these run in the folder, five minutes after the snapshot."""
    at(monkeypatch, "03:05")


def test_figures_of_a_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli(*PROVED, *KEPT, *FIGURES, "--detailed-exitcode").code == 2
    found = figures()
    assert found["kantopt_last_run_timestamp_seconds"] == 1788231900
    assert found["kantopt_last_success_timestamp_seconds"] == 1788231900
    assert found["kantopt_last_run_exit_code"] == 2
    assert found["kantopt_snapshot_timestamp_seconds"] == 1788231600
    assert found['kantopt_solver_status{status="FEASIBLE"}'] == 0
    assert found['kantopt_solver_status{status="OPTIMAL"}'] == 1
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
    assert cli(*PROVED, *KEPT, *FIGURES).code == 0
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


def test_an_interrupted_run_is_no_success(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli(*PLAN, *FIGURES)
    at(monkeypatch, "03:30")
    terminate_when_planning(monkeypatch)
    assert cli(*PLAN, *FIGURES).code == 143
    found = figures()
    assert found["kantopt_last_run_exit_code"] == 143
    assert found["kantopt_last_run_timestamp_seconds"] == 1788233400
    assert found["kantopt_last_success_timestamp_seconds"] == 1788231900
