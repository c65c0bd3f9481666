"""``kantopt bench certificates``: our plans and those of strategies, certified and checked."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from kantopt.bench.case import Documents
from kantopt.bench.models import bench_model
from kantopt.bench.placed import emptied, placed_by
from kantopt.bench.priority_matters import Cell, documents
from kantopt.bench.published import SEEDS
from kantopt.cli.endings import run
from kantopt.search.strategy import Strategy

TINY = ("--nodes", "4", "--pods", "4", "--priorities", "2", "--usage", "0.90", "--limits", "20s")


def test_our_plans_are_certified_and_the_certificates_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.csv"
    assert run(["bench", "certificates", *TINY, "--seeds", "1", "--out", str(out)]) == 0
    (row,) = csv.DictReader(out.open(encoding="utf-8"))
    assert (row["judged"], row["verdict"], row["fault"]) == ("kantopt", "OPTIMAL", "")
    assert int(row["arithmetic"]) == int(row["tiers"]) == 4
    assert "1 certificates, 0 of them at fault." in capsys.readouterr().out


def test_what_a_strategy_makes_of_an_empty_cluster_is_certified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.csv"
    judged = ("--strategy", "kube-default", "--seeds", "1", "--out", str(out))
    assert run(["bench", "certificates", *TINY, *judged]) == 0
    (row,) = csv.DictReader(out.open(encoding="utf-8"))
    assert row["judged"] == "kube-default"
    assert row["verdict"] in ("OPTIMAL", "BETTER")
    assert (row["verdict"] == "BETTER") is (int(row["differs"]) > 0)
    assert "kube-default" in capsys.readouterr().out


def test_a_scheduler_begins_with_nothing_and_takes_jobs_as_they_come() -> None:
    made: Documents = documents(Cell(4, 4, 2, 95), SEEDS[0])
    empty = emptied(made)
    assert empty.snapshot.jobs == ()
    assert len(empty.pending) == len(made.jobs)
    after = placed_by(empty, bench_model("placement-first", counts=True), Strategy.KUBE_DEFAULT)
    placed = sum(
        place.count for job in after.jobs for podset in job.pod_sets for place in podset.assignments
    )
    assert 0 < placed <= 16
