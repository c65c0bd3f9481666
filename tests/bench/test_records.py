"""Best known values and bounds: what contradicts them, what improves them."""

from __future__ import annotations

from pathlib import Path

from scripts.bench.records import contradictions, merged, read_records, write_records
from scripts.bench.row import Bound, Row
from tests.bench.rows import no_call, row

BEST_KNOWN = Path(__file__).resolve().parents[2] / "instances" / "best_known.csv"


def told(new: Row, *old: Row) -> list[str]:
    return list(contradictions([new], merged([], old)))


def bounds(*values: int, given: bool = True) -> tuple[Bound, ...]:
    return tuple(Bound(value, given and i > 0) for i, value in enumerate(values))


def test_a_value_below_a_proved_bound_contradicts() -> None:
    old = row(values=(1, 2, 0, 0), bounds=bounds(1, 2, 0, 0))
    better = row(values=(0, 2, 0, 0), bounds=bounds(0, 0, 0, 0))
    assert told(better, old) == [
        "priority-matters n04-p4-k2-u095 7 placement-first: unplaced[priority=2, pods] is 0 of at "
        "least 1"
    ]


def test_a_bound_above_a_value_that_was_reached_contradicts() -> None:
    old = row(values=(0, 1, 0, 0), bounds=bounds(0, 0, 0, 0))
    wrong = row(values=(0, 2, 0, 0), bounds=bounds(0, 2, 0, 0))
    assert [text.split(": ")[1] for text in told(wrong, old)] == [
        "unplaced[priority=1, pods] is 1 of at least 2"
    ]


def test_a_bound_that_is_given_the_tiers_above_says_nothing_of_plans_worse_there() -> None:
    old = row(values=(0, 2, 0, 0), bounds=bounds(0, 2, 0, 0))
    other = row(values=(1, 0, 0, 0), bounds=bounds(0, 0, 0, 0))
    assert not told(other, old)
    alone = row(values=(0, 2, 0, 0), bounds=bounds(0, 2, 0, 0, given=False))
    assert told(other, alone)


def test_a_row_that_undercuts_its_own_bound_contradicts() -> None:
    assert told(row(values=(0, 0, 0, 0), bounds=bounds(0, 1, 0, 0)))


def test_rows_of_one_run_are_held_against_each_other() -> None:
    low = row(engine="fast", values=(0, 1, 0, 0), bounds=bounds(0, 0, 0, 0))
    high = row(engine="auto", values=(0, 2, 0, 0), bounds=bounds(0, 2, 0, 0))
    assert list(contradictions([low, high], []))


def test_unverified_plans_and_instances_without_a_call_make_no_record() -> None:
    assert not merged([], [no_call(), row(verified="no")])


def test_the_better_plan_and_the_stronger_bounds_stay() -> None:
    worse = row(values=(0, 2, 0, 0), bounds=bounds(0, 1, 0, 0), engine="fast")
    better = row(values=(0, 1, 3, 9), bounds=bounds(0, 0, 2, 9))
    (record,) = merged([], [worse, better, worse])
    assert record.values == (0, 1, 3, 9)
    assert record.bounds == bounds(0, 1, 2, 9)
    assert record.found_by == "0.1.0 auto 1s"


def test_a_bound_is_dropped_where_the_better_plan_is_outside_of_what_it_speaks_of() -> None:
    worse = row(values=(1, 0, 0, 5), bounds=bounds(0, 0, 0, 5))
    better = row(values=(0, 3, 0, 0), bounds=bounds(0, 0, 0, 0))
    (record,) = merged(merged([], [worse]), [better])
    assert record.bounds == bounds(0, 0, 0, 0)  # 5 moves spoke of plans with no low pod missing


def test_records_survive_the_file(tmp_path: Path) -> None:
    records = merged([], [row(), row(seed=8, bounds=(None,) * 4)])
    write_records(tmp_path / "best.csv", records)
    assert read_records(tmp_path / "best.csv") == records


def test_the_records_of_this_project_do_not_contradict_themselves() -> None:
    records = read_records(BEST_KNOWN)
    assert records
    assert [record.key for record in records] == sorted({record.key for record in records})
    for record in records:
        for value, bound in zip(record.values, record.bounds, strict=True):
            assert bound is None or bound.value <= value, record
