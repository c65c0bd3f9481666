"""What the suite of features lists, how pairs of runs are compared, and the command as a whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kantopt.errors import UsageError
from kantopt.report.blocks import Paragraph, Screen, Table, render
from scripts.bench.command import main
from scripts.bench.deadlines import deadline_blocks
from scripts.bench.features.compared import (
    Pair,
    feature_blocks,
    feature_faults,
    pairs_of,
    ratio,
    steadiness,
)
from scripts.bench.features.stated import NotHereError, Stated
from scripts.bench.features.suite import BASES, cases, featured, left_out, model
from scripts.bench.features.table import CONTROL, FEATURES
from scripts.bench.grid import Grid
from scripts.bench.row import Row
from scripts.bench.summary import summary_blocks
from scripts.bench.table import read_rows
from tests.bench import tiny_questions
from tests.bench.rows import row

TINY = Grid((4,), (4,), (2,), (95,), seeds=1, of=("priority-matters",))
TIERS = ("unplaced[priority=2, pods]", "evictions", "moves")


def of(feature: str, which: str, **changes: Any) -> Row:
    name = f"priority-matters/n04/{feature}" + ("/plain" if which == "plain" else "")
    parameters = {"base": "priority-matters", "feature": feature, "run": which}
    usual = {"tiers": TIERS, "values": (0, 1, 2), "bounds": (None, None, None)}
    return row(suite="features", instance=name, parameters=parameters, **{**usual, **changes})


def pair(plain: dict[str, Any], other: dict[str, Any], feature: str = "queue") -> Pair:
    return Pair(of(feature, "plain", **plain), of(feature, "featured", **other))


def test_each_featured_case_has_a_plain_one_beside_it_in_turns_before_and_behind() -> None:
    found = cases(replace(TINY, features=("queue", "daemons")))
    assert [case.parameters["run"] for case in found] == ["plain", "featured", "featured", "plain"]
    assert len({(case.instance, case.seed) for case in found}) == 4
    plain, with_queue = (case.make() for case in found[:2])
    assert isinstance(plain, Stated)
    assert isinstance(with_queue, Stated)
    assert not plain.snapshot.queues
    assert with_queue.snapshot.queues
    assert model("own")(with_queue) == with_queue.asked


def test_a_feature_that_adds_nothing_is_left_out() -> None:
    with pytest.raises(NotHereError):  # priorities there are none of: nobody is the lowest
        featured(tiny_questions.slots(), FEATURES["never-of-the-lowest"])
    assert featured(tiny_questions.slots(), FEATURES[CONTROL]) == tiny_questions.slots()


def test_without_data_suites_are_left_out_unless_asked_for_by_name() -> None:
    assert left_out(Grid()) == ["openb", "vm-rescheduling"]
    with pytest.raises(UsageError, match="needs data"):
        cases(Grid(of=("openb",)))
    assert set(left_out(Grid())) < set(BASES)


@pytest.mark.parametrize(
    "grid", [Grid(of=("golden",)), Grid(of=("gangs",), features=("budget-alowed",))]
)
def test_unknown_suites_and_features_are_named(grid: Grid) -> None:
    with pytest.raises(UsageError, match="expected one of"):
        cases(grid)


def test_values_are_compared_in_the_order_of_the_plain_tiers_common_to_both() -> None:
    extra = ("nodes_in_use[above goal 4]", *TIERS)
    assert not pair({}, {"tiers": extra, "values": (9, 0, 1, 2), "bounds": (None,) * 4}).worse
    assert pair({}, {"values": (0, 2, 0)}).first_difference() == ("evictions", 1)
    assert pair({}, {"values": (0, 2, 0)}).worse
    assert not pair({}, {"values": (0, 0, 9)}).worse
    assert pair({}, {"verified": ""}).first_difference() == ("no plan", 1)


def test_where_minima_bind_somebody_they_are_not_judged() -> None:
    assert not pair({"values": (1, 0, 0)}, {}, "min-count-one").judged
    assert pair({"values": (0, 5, 0)}, {}, "min-count-one").judged
    assert not pair({"verified": ""}, {}).judged


def test_a_better_plan_than_what_is_proved_of_the_other_is_a_fault() -> None:
    better = pair({"status": "OPTIMAL"}, {"values": (0, 0, 9)})
    assert "1 less of evictions" in better.contradiction()
    assert "proved with it" in pair({}, {"values": (0, 2, 0), "status": "OPTIMAL"}).contradiction()
    assert not pair({"status": "OPTIMAL"}, {"values": (0, 2, 0)}).contradiction()
    assert feature_faults([better.featured, better.plain])


def test_the_table_has_shares_proofs_and_ratios_and_names_the_worst() -> None:
    rows = [
        *(of("queue", "plain", seed=s, proof_seconds=0.5, first_seconds=0.2) for s in (1, 2)),
        of("queue", "featured", seed=1, proof_seconds=1.0, first_seconds=0.3),
        of("queue", "featured", seed=2, values=(0, 2, 0), first_seconds=0.1),
        of(CONTROL, "plain"),
        of(CONTROL, "featured", values=(0, 2, 0)),
    ]
    assert len(pairs_of(rows)) == 3
    table, _, last = feature_blocks(rows)
    assert isinstance(table, Table)
    assert table.rows[0][3:] == (
        *("queue", "50.0 % (1/2)", "evictions", "1/2", "never", "1.00", "1.00"),
    )
    assert last == Paragraph("Worst features: queue (worse 1/2, proofs lost 1).")


def test_plain_runs_beside_each_other_say_what_chance_does() -> None:
    rows = [
        of("queue", "plain"),
        of("queue", "featured"),
        of("cohort", "plain", values=(0, 1, 5)),
        of("cohort", "featured"),
    ]
    assert steadiness(pairs_of(rows)).endswith("priority-matters 50.0 % (1/2).")


def test_a_first_plan_that_never_comes_is_told() -> None:
    rows = [of("queue", "plain"), of("queue", "featured", first_seconds=None)]
    table = feature_blocks(rows)[0]
    assert isinstance(table, Table)
    assert table.rows[0][-1] == "never"


def test_the_summary_says_of_features_too_whether_deadlines_were_kept() -> None:
    late = of("queue", "featured", wall_seconds=9.0, overrun_seconds=8.0)
    said = render(summary_blocks([of("queue", "plain"), late], []), Screen())
    assert "Worst features" in said
    assert render(deadline_blocks([of("queue", "plain"), late]), Screen()) in said


def test_medians_of_what_never_came_are_told_as_never() -> None:
    assert ratio([]) == "-"
    assert ratio([None, 1.0, 3.0]) == "2.00"
    assert ratio([1.0, float("inf"), float("inf")]) == "never"


def test_the_command_runs_both_of_a_pair_and_keeps_their_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.csv"
    options = ["--of", "priority-matters", "--nodes", "4", "--pods", "4", "--priorities", "2"]
    options += ["--usage", "0.95", "--seeds", "1", "--limits", "2s", "--feature", "queue"]
    assert main(["features", *options, "--out", str(out)]) == 0
    rows = read_rows(out)
    assert [row.parameters["run"] for row in rows] == ["plain", "featured"]
    assert all(row.verified == "yes" for row in rows)
    said = capsys.readouterr().out
    assert "queue" in said
    assert "Worst features" in said
