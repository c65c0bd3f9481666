"""Streams of jobs that are placed on one level and on two."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from scripts.bench.command import main
from scripts.bench.selection import COLUMNS, WAYS, selected, stream


def test_every_way_goes_through_the_same_jobs_and_fills_the_cluster() -> None:
    instance, sizes = stream(96, 80, 1)
    assert stream(96, 80, 1)[1] == sizes
    rows = {way: selected(instance, sizes, 80, 1, way) for way in WAYS}
    for row in rows.values():
        assert row.refused or row.gpus >= 80
        assert 0 <= row.largest <= row.whole_nodes <= 96
        assert row.excess_nodes >= 0
        assert row.excess_leaves >= 0
    one, anew = rows["e-binpack, one level"], rows["e-binpack, one level, all anew"]
    told = [name for name in COLUMNS if name not in ("way", "micros")]
    assert [getattr(one, name) for name in told] == [getattr(anew, name) for name in told]
    two = rows["e-binpack"]
    assert two.excess_leaves <= one.excess_leaves, "groups are chosen so that jobs need few"
    assert rows["least-allocated"].fragmented > two.fragmented


def test_the_command_writes_a_row_for_each_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.csv"
    command = ["selection", "--nodes", "64", "--usage", "0.7", "--seeds", "1", "--out", str(out)]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert all(f" {way} " in told for way in WAYS)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["way"] for row in rows] == list(WAYS)
