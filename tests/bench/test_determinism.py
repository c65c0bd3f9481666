"""Same input, same bytes: real runs of small sizes, and how differences are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kantopt.cli.endings import run
from kantopt.report.blocks import Paragraph, Screen, render
from scripts.bench import determinism
from scripts.bench.case import Case
from scripts.bench.command import main
from scripts.bench.determinism import COLUMNS, Twice, run_twice, twice_blocks
from scripts.bench.models import MakeModel, shipped
from scripts.bench.priority_matters import cases
from scripts.bench.process import Processes, Ran
from scripts.bench.row import to_cells

MODEL: MakeModel = shipped("placement-first", counts=True)
SEED = 7
ROW = Twice(
    instance="n04-p8-k4-u100",
    seed=SEED,
    nodes=4,
    engine="exact",
    model="placement-first",
    limit_seconds=5.0,
    same=True,
    reproducible=True,
    open_tiers=2,
    status="FEASIBLE",
    first_seconds=2.0,
    second_seconds=3.0,
    fault="",
)


def case_of(nodes: int) -> Case:
    return cases((nodes,), (8,), (4,), (100,), (SEED,))[0]


@pytest.mark.parametrize("nodes", [4, 8])
def test_a_deterministic_run_gives_the_same_bytes_with_a_tier_left_open(nodes: int) -> None:
    row = run_twice(case_of(nodes), "placement-first", MODEL, "exact", 2.0)
    assert row.fault == ""
    assert row.open_tiers > 0
    assert row.same or not row.reproducible  # the clock cuts in where a machine is very busy


def written(monkeypatch: pytest.MonkeyPatch, *texts: bytes) -> None:
    """Let runs write these plans; nothing: none."""
    left = list(texts)

    def plan(_: Processes, arguments: list[str], limit: float, folder: Path) -> Ran:
        text = left.pop(0)
        if text:
            Path(arguments[-1]).write_bytes(text)
        return Ran(1.0, 1.0, 50, 0)

    monkeypatch.setattr(Processes, "plan", plan)


@pytest.fixture(scope="module")
def plan_text(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A plan that says that it is reproducible."""
    folder = tmp_path_factory.mktemp("plan")
    files = list(map(str, case_of(4).make().write(folder)))
    out = folder / "plan.json"
    options = ["--engine", "fast", "--deterministic", "--time-limit", "1h", "-q"]
    assert run(["plan", *files, *options, "-O", str(out)]) == 0
    text = out.read_bytes()
    assert b'"reproducible": true' in text
    return text


def twice() -> Twice:
    return run_twice(case_of(4), "placement-first", MODEL, "exact", 1.0)


def test_plans_that_differ_though_they_say_reproducible_are_a_fault(
    monkeypatch: pytest.MonkeyPatch, plan_text: bytes
) -> None:
    written(monkeypatch, plan_text, plan_text + b" ")
    row = twice()
    assert not row.same
    assert row.fault == f"differs from byte {len(plan_text)} on"


def test_plans_that_own_up_to_the_clock_may_differ(
    monkeypatch: pytest.MonkeyPatch, plan_text: bytes
) -> None:
    clocked = plan_text.replace(b'"reproducible": true', b'"reproducible": false')
    written(monkeypatch, plan_text, clocked)
    assert (twice().reproducible, twice_fault(monkeypatch, plan_text, clocked)) == (False, "")


def twice_fault(monkeypatch: pytest.MonkeyPatch, *texts: bytes) -> str:
    written(monkeypatch, *texts)
    return twice().fault


def test_no_plan_is_a_fault(monkeypatch: pytest.MonkeyPatch, plan_text: bytes) -> None:
    assert twice_fault(monkeypatch, plan_text, b"") == "no plan"


def test_the_command_tells_faults_and_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = {4: "", 8: "no plan"}

    def found(case: Case, *_: object) -> Twice:
        nodes = int(case.parameters["nodes"])
        return replace(ROW, nodes=nodes, fault=faults[nodes])

    monkeypatch.setattr(determinism, "run_twice", found)
    out = tmp_path / "twice.csv"
    command = ["determinism", "--nodes", "4,8", "--seeds", "1", "--out", str(out)]
    assert main(command) == 1
    captured = capsys.readouterr()
    assert captured.err == "kantopt: error: n04-p8-k4-u100 7 exact: no plan\n"
    assert "2 of 2 questions" in captured.out
    assert [line.split(",")[2] for line in out.read_text().splitlines()] == ["nodes", "4", "8"]
    assert main([*command[:2], "4", *command[3:5]]) == 0


def test_rows_and_their_table() -> None:
    assert dict(zip(COLUMNS, to_cells(ROW, COLUMNS), strict=True))["open_tiers"] == "2"
    summary, _ = twice_blocks([ROW, replace(ROW, same=False, reproducible=False)])
    assert isinstance(summary, Paragraph)
    assert summary.text.startswith("1 of 2 questions planned twice gave the same bytes, 1 of them")
    assert "differ" in render(twice_blocks([replace(ROW, same=False)]), Screen())
