"""``python scripts/bench`` as a whole, on instances of four nodes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.bench.command import main
from scripts.bench.process import Processes
from scripts.bench.records import read_records
from scripts.bench.table import read_rows

ROOT = Path(__file__).resolve().parents[2]
TINY = ("--nodes", "4", "--pods", "4", "--priorities", "2", "--limits", "2s", "--seeds", "1")


def bench(*arguments: str) -> int:
    return main(["priority-matters", *TINY, *arguments])


def test_a_run_makes_a_verified_row_and_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, best = tmp_path / "rows.csv", tmp_path / "best.csv"
    options = ("--usage", "1.05", "--engines", "fast", "--models", "placement-first")
    assert bench(*options, "--out", str(out), "--record", str(best)) == 0
    (row,) = read_rows(out)
    assert (row.verified, row.exit_code, row.engine) == ("yes", 0, "fast")
    assert row.wall_seconds is not None
    assert 0 < row.wall_seconds < 60
    assert row.cpu_seconds is not None
    assert 0 < row.cpu_seconds < 60
    assert row.first_seconds is not None
    assert 0 < row.first_seconds <= row.wall_seconds
    assert row.peak_mib is not None
    assert 10 < row.peak_mib < 4000
    assert sum(row.placed.values()) == sum(row.wanted.values()) - sum(row.values[:2])
    assert [record.values for record in read_records(best)] == [row.values]
    assert "usage 1.05" in capsys.readouterr().out


def test_rows_that_are_there_are_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "rows.csv"
    options = ("--usage", "1.05", "--engines", "fast", "--out", str(out))
    assert bench(*options, "--models", "placement-first") == 0
    runs: list[object] = []
    plan = Processes.plan

    def counted(self: Processes, *arguments: object) -> object:
        runs.append(arguments)
        return plan(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Processes, "plan", counted)
    assert bench(*options, "--models", "placement-first,tier-by-tier-strict") == 0
    assert len(runs) == 1
    assert [row.model for row in read_rows(out)] == ["placement-first", "tier-by-tier-strict"]


def test_a_value_below_a_bound_known_before_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, best = tmp_path / "rows.csv", tmp_path / "best.csv"
    options = ("--usage", "1.05", "--engines", "fast", "--models", "placement-first")
    assert bench(*options, "--out", str(out), "--record", str(best)) == 0
    (record,) = read_records(best)
    wrong = " ".join(str(value + 1) for value in record.values)
    text = best.read_text().replace(" ".join(map(str, record.values)), wrong)
    best.write_text(text.replace(" ".join(str(b) for b in record.bounds), wrong))
    assert bench(*options, "--out", str(out), "--record", str(best)) == 1
    assert "of at least" in capsys.readouterr().err
    assert best.read_text().count(wrong) == 2  # a record that is contradicted is not touched


def test_no_run_contradicts_the_records_of_this_project(tmp_path: Path) -> None:
    best = tmp_path / "best_known.csv"
    best.write_bytes((ROOT / "instances" / "best_known.csv").read_bytes())
    arguments = ["--nodes", "4", "--pods", "4", "--priorities", "4", "--usage", "1.05"]
    arguments += ["--seeds", "1", "--limits", "5s", "--models", "placement-first,tier-by-tier"]
    known = len(read_records(best))
    assert main(["priority-matters", *arguments, "--record", str(best)]) == 0
    assert len(read_records(best)) == known  # there are records of just these


def test_ctrl_c_keeps_what_is_done_and_ends_what_runs(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    command = [sys.executable, str(ROOT / "scripts" / "bench"), "priority-matters", "--nodes", "4"]
    command += ["--limits", "1s", "--engines", "fast", "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    patience = time.monotonic() + 60
    while time.monotonic() < patience and not (out.exists() and len(read_rows(out)) >= 2):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped: " in err
    assert len(read_rows(out)) >= 2
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("everything",), "expected one of priority-matters"),
        (("certificate",), "(did you mean certificates?)"),
        (("gangs", "--nodes", "4,x"), "--nodes: found 4,x"),
        (("gangs", "--usage", "0"), "--usage: found 0"),
        (("gangs", "--engines", "slow"), "--engines: found slow"),
        (("gangs", "--models", "nothing"), "--models"),
        (("gangs", "--limits", "soon"), "found 'soon'"),
    ],
)
def test_what_cannot_be_understood_is_a_usage_error(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments]) == 64
    assert said in capsys.readouterr().err


def test_the_summary_is_a_page_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "bench.html"
    options = ("--usage", "1.05", "--engines", "fast", "--models", "placement-first")
    assert bench(*options, "--page", str(page)) == 0
    text = page.read_text()
    assert "priority-matters: 1 of 1 runs" in text
    title = capsys.readouterr().out.splitlines()[0]
    assert title in text
    assert main(["pairs", "--page", str(page)]) == 64


def test_plots_say_what_they_need(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ("--usage", "1.05", "--engines", "fast", "--models", "placement-first")
    code = bench(*options, "--plot", str(tmp_path / "plots"))
    drawn = sorted(path.name for path in (tmp_path / "plots").glob("*.svg"))
    if code == 64:
        assert "matplotlib" in capsys.readouterr().err
        assert not drawn
    else:
        names = ("first", "mib", "placement", "proof", "seconds")
        assert drawn == [f"priority-matters-{name}.svg" for name in names]
