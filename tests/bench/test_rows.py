"""Rows: to the file and back, and what they say of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.errors import BadDataError, CannotCreateError
from scripts.bench.row import COLUMNS, Bound, Row
from scripts.bench.table import Table, read_rows
from tests.bench.rows import no_call, row


@pytest.mark.parametrize("each", [row(), no_call(), row(note='a, "b"', bounds=(None,) * 4)])
def test_a_row_survives_the_file(each: Row, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    Table(path).add(each)
    assert read_rows(path) == [each]


def test_a_table_goes_on_where_a_killed_run_stopped(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    Table(path).add(row(seed=1))
    with path.open("a") as file:
        file.write("priority-matters,n04-p4")
    table = Table(path)
    table.add(row(seed=2))
    assert [each.seed for each in table.rows] == [1, 2]
    assert read_rows(path) == table.rows


def test_another_csv_file_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(BadDataError, match="other columns"):
        Table(path)
    assert path.read_text() == "a,b\n1,2\n"


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{','.join(COLUMNS)}\n{',' * (len(COLUMNS) - 1)}\n")
    with pytest.raises(BadDataError, match="line 2"):
        read_rows(path)


def test_a_table_in_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CannotCreateError, match="no such file"):
        Table(tmp_path / "none" / "rows.csv")


def test_placement_is_settled_if_all_its_tiers_are_proved() -> None:
    assert not row().placement_settled()
    assert row().placement_settled(within=1)  # one pod above the bound, in the lowest tier
    assert row(bounds=(Bound(0), Bound(2), None, None)).placement_settled()
    assert not row(bounds=(Bound(0), None, Bound(1), Bound(4))).placement_settled(within=9)
    assert no_call().placement_settled()


def test_a_tier_above_the_lowest_must_be_proved() -> None:
    assert not row(values=(1, 1, 0, 0)).placement_settled(within=1)


def test_an_illegal_plan_settles_nothing() -> None:
    assert not row(verified="no", bounds=(Bound(0), Bound(2), None, None)).placement_settled()


def test_worse_is_told_in_the_order_of_the_tiers() -> None:
    assert not row(before=(1, 0, 0, 0), values=(0, 9, 9, 9)).worse
    assert row(before=(0, 1, 0, 0), values=(0, 1, 0, 1)).worse
    assert not no_call().worse


def test_a_start_that_leaves_a_required_job_out_is_worse_than_any_plan_with_it() -> None:
    values = {"before": (0, 0, 0, 0), "values": (0, 0, 2, 4)}
    assert row(**values).worse
    assert not row(**values, required_before=1).worse
    assert row(**values, required_before=1, required_left=1).worse
    assert row(before=(0, 0, 2, 4), values=(0, 0, 0, 0), required_left=1).worse


def test_rows_of_other_versions_are_other_rows() -> None:
    assert row().key != row(kantopt="0.2.0").key
    assert row().key == row(wall_seconds=9.0, values=(0, 0, 0, 0)).key
