"""``scripts/bench certificates``: our plans and those of strategies, certified and checked."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kantopt.search.strategy import Strategy
from scripts.bench.case import Documents
from scripts.bench.certified_suites import STRATEGIES_GRID, grid_of, suite_of
from scripts.bench.command import main
from scripts.bench.grid import Grid
from scripts.bench.models import bench_model
from scripts.bench.placed import emptied, placed_by
from scripts.bench.priority_matters import Cell, documents
from scripts.bench.process import Processes, Stopped, environment
from scripts.bench.published import SEEDS

ROOT = Path(__file__).resolve().parents[2]
TINY = ("--nodes", "4", "--pods", "4", "--priorities", "2", "--usage", "0.90", "--limits", "20s")


def test_our_plans_are_certified_and_the_certificates_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.csv"
    assert main(["certificates", *TINY, "--seeds", "1", "--out", str(out)]) == 0
    (row,) = csv.DictReader(out.open(encoding="utf-8"))
    assert (row["judged"], row["verdict"], row["fault"]) == ("kantopt", "OPTIMAL", "")
    assert int(row["arithmetic"]) == int(row["tiers"]) == 4
    told = capsys.readouterr().out
    assert "1 certificates, 0 of them at fault." in told
    assert "4 = 100.00%" in told
    before = out.read_bytes()
    assert main(["certificates", *TINY, "--seeds", "1", "--out", str(out)]) == 0
    assert out.read_bytes() == before, "what is done is not done again"
    assert capsys.readouterr().out == told
    out.write_bytes(before + before.splitlines(keepends=True)[-1].replace(b",20,", b",soon,"))
    assert main(["certificates", *TINY, "--seeds", "1", "--out", str(out)]) == 65


def test_suites_are_known_by_name_and_strategies_have_questions_of_their_own() -> None:
    assert main(["certificates", "--of", "nothing"]) == 64
    assert {len(suite_of(name).cases(Grid(seeds=1))) for name in ("golden", "preemption")} == {
        30,
        9,
    }
    case = suite_of("golden").cases(Grid())[0]
    made = case.make()
    assert suite_of("golden").model("own")(made).metadata.name == made.snapshot.metadata.name
    assert grid_of(Grid(nodes=(64,))).nodes == (64,)
    assert grid_of(Grid()).usage_percent == STRATEGIES_GRID.usage_percent


def test_what_a_strategy_makes_of_an_empty_cluster_is_certified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.csv"
    judged = ("--strategy", "kube-default", "--seeds", "1", "--out", str(out))
    assert main(["certificates", *TINY, *judged]) == 0
    (row,) = csv.DictReader(out.open(encoding="utf-8"))
    assert row["judged"] == "kube-default"
    assert row["verdict"] in ("OPTIMAL", "BETTER")
    assert (row["verdict"] == "BETTER") is (int(row["differs"]) > 0)
    assert "kube-default" in capsys.readouterr().out


def test_a_scheduler_begins_with_nothing_and_takes_jobs_by_priority() -> None:
    made: Documents = documents(Cell(4, 4, 2, 95), SEEDS[0])
    empty = emptied(made)
    assert empty.snapshot.jobs == ()
    priorities = [job.priority or 0 for job in empty.pending]
    assert priorities == sorted((job.priority or 0 for job in made.jobs), reverse=True)
    after = placed_by(empty, bench_model("placement-first", counts=True), Strategy.KUBE_DEFAULT)
    placed = sum(
        place.count for job in after.jobs for podset in job.pod_sets for place in podset.assignments
    )
    assert 0 < placed <= 16


def test_a_benchmark_that_is_stopped_keeps_no_row_of_what_was_under_way(tmp_path: Path) -> None:
    """Ctrl-C on a terminal reaches the whole group of processes."""
    out = tmp_path / "rows.csv"
    large = ("--nodes", "64", "--pods", "8", "--priorities", "4", "--usage", "1.05", "--seeds", "1")
    command = ["certificates", *large, "--limits", "60s", "--out", str(out)]
    bench = subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / "bench"), *command],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(3)  # in the middle of planning, or before: no row can be complete
    os.killpg(bench.pid, signal.SIGINT)
    bench.communicate(timeout=30)
    assert bench.returncode == 130
    assert not out.exists() or len(out.read_text(encoding="utf-8").splitlines()) <= 1


def test_what_is_stopped_says_nothing(tmp_path: Path) -> None:
    waits = tmp_path / "snapshot.json"
    os.mkfifo(waits)  # nobody writes: whoever reads it waits
    processes = Processes()
    timer = threading.Timer(0.5, processes.stop)
    timer.start()
    with pytest.raises(Stopped):
        processes.call(["plan", str(waits)], 60.0)
    with pytest.raises(Stopped):
        processes.call(["models"], 60.0)
