"""Victims of one plan beside those of reverse-trim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kantopt.problem.build import build_instance
from kantopt.report.blocks import Paragraph
from kantopt.verify.rules import check_standing
from scripts.bench import ablation, preemption
from scripts.bench.campaign import Campaign, run
from scripts.bench.command import main
from scripts.bench.crowded import KINDS, Crowd, Kind, crowded
from scripts.bench.grid import Grid
from scripts.bench.preemption import Contest, contest, contest_blocks, to_cells
from scripts.bench.table import Table, read_rows

ROW = Contest(
    crowd=Crowd(16, "alike", 0),
    trimmed=(4, 100),
    trimmed_pods=4,
    ours=(2, 900),
    our_pods=2,
    fewest=True,
    least_lost=False,
    seconds=1.0,
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_crowded_cluster_is_full_sound_and_has_one_job_that_waits(kind: Kind) -> None:
    made = crowded(Crowd(24, kind, 3))
    assert made == crowded(Crowd(24, kind, 3))
    instance = build_instance(made.snapshot, made.pending, preemption.preemption_model())
    assert not check_standing(instance)
    held = sum(p.gpu_milli * p.count for p in instance.podsets if p.running)
    assert held == sum(node.gpu_milli for node in instance.nodes)
    assert [job.name for job in instance.jobs if job.index in instance.required] == [
        "default/wanted"
    ]
    gangs = [job for job in instance.jobs if sum(role.count for role in job.roles) > 1]
    assert any(job.all_victims for job in gangs) is (kind == "gangs")


def test_a_plan_has_fewer_victims_than_reverse_trim_and_proves_it() -> None:
    row = contest(Crowd(16, "alike", 0), 20.0)
    assert row.verdict == "fewer"
    assert row.fewest
    assert row.our_pods < row.trimmed_pods


def test_victims_for_a_required_job_are_better_than_doing_nothing(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    campaign = Campaign(
        ablation.cases(Grid(seeds=1, nodes=(16,), of=("preemption",), features=("sparing",)))[:1],
        {"own": ablation.model("own")},
        ("fast",),
        (5.0,),
    )
    run(campaign, Table(out), resume=False, tell=lambda _: None)
    (row,) = read_rows(out)
    assert row.values > row.before
    assert (row.required_before, row.required_left) == (1, 0)
    assert (row.category, row.worse) == ("better", False)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "fewer"),
        ({"ours": (4, 100), "our_pods": 4}, "equal"),
        ({"ours": (4, 101), "our_pods": 4}, "worse"),
        ({"ours": (4, 99), "our_pods": 5}, "worse"),
        ({"ours": (4, 99), "our_pods": 5, "crowd": Crowd(16, "costs", 0)}, "fewer"),
        ({"trimmed": None}, "fewer"),
        ({"ours": None}, "worse"),
        ({"trimmed": None, "ours": None}, "equal"),
    ],
)
def test_the_verdict_compares_the_models_own_vector(
    changes: dict[str, object], verdict: str
) -> None:
    assert replace(ROW, **changes).verdict == verdict  # type: ignore[arg-type]


def test_the_table_says_where_it_is_worse() -> None:
    title = contest_blocks([ROW])[0]
    assert isinstance(title, Paragraph)
    assert title.style == "good"
    worse = contest_blocks([ROW, replace(ROW, ours=(9, 9))])[0]
    assert isinstance(worse, Paragraph)
    assert (worse.style, "worse on 1" in worse.text) == ("bad", True)
    assert len(to_cells(ROW)) == len(preemption.COLUMNS)


def test_the_command_keeps_rows_and_fails_where_ours_are_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [ROW, replace(ROW, ours=(9, 9))]

    def fake(nodes: object, seeds: int, limit: float, tell: object) -> None:
        for row in rows[:seeds]:
            tell(row)  # type: ignore[operator]

    monkeypatch.setattr(preemption, "run_all", fake)
    out = str(tmp_path / "rows.csv")
    assert main(["preemption", "--seeds", "1", "--out", out]) == 0
    assert main(["preemption", "--seeds", "2", "--out", out]) == 1
    assert "reverse-trim has (4, 100)" in capsys.readouterr().err
    assert len(Path(out).read_text("utf-8").splitlines()) == 4
