"""Policies beside each other: the document, its tables as text and as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kantopt.errors import CannotCreateError
from kantopt.report.blocks import Screen, render
from kantopt.report.simulation import simulation_blocks
from kantopt.schema.answers.simulation import Measure, Simulation
from kantopt.schema.published import published_schema
from kantopt.simulate.figures import figures_of
from kantopt.simulate.history import History
from kantopt.simulate.tables import write_tables
from tests.simulate.histories import drawn, job, sample


def run(policy: str, trace: str, reserved: int, **given: Any) -> History:
    """A history of 100 s in which so much is bound, with one job of one GPU."""
    moment = sample(reserved=reserved, running=reserved)
    return History(policy, trace, 100_000, 16_000, [job(**given)], [], [moment])


def found(simulation: Simulation, metric: str, scope: str = "") -> Measure:
    return next(
        measure
        for group in simulation.groups
        for measure in group.measures
        if (measure.metric, measure.scope) == (metric, scope)
    )


def compared() -> Simulation:
    return figures_of(
        [
            run("fifo", "t1", 8000, started=1000),
            run("fifo", "t2", 4000, started=3000),
            run("easy", "t1", 12_000, started=0),
            run("easy", "t2", 8000),
        ],
        name="small",
    )


def test_means_and_intervals_are_over_traces_and_differences_within_them() -> None:
    fifo, easy = found(compared(), "sor_reserved").estimates
    assert fifo.values == (0.5, 0.25)
    assert fifo.mean == 0.375
    assert fifo.half_width == pytest.approx(12.706 * 0.125)
    assert fifo.difference is None
    assert easy.difference == 0.25
    assert easy.difference_half_width == pytest.approx(0)


def test_shares_of_gpu_time_are_those_of_each_simulation() -> None:
    longer = run("easy", "t", 8000)
    longer.horizon = 200_000  # as much GPU time as the other one has in half the time
    simulation = figures_of([run("fifo", "t", 12_000), longer])
    fifo, easy = found(simulation, "running_share").estimates
    assert (fifo.mean, easy.mean, easy.difference) == (0.75, 0.5, -0.25)
    told = render(simulation_blocks(simulation, wide=True), Screen()).splitlines()
    rows = [line.split() for line in told if line.startswith("running")]
    assert rows == [["running", "75.00%", "50.00%", "-25.00%"]]


def test_lower_bounds_have_no_interval() -> None:
    fifo, easy = found(compared(), "wait_p50", "all").estimates
    assert fifo.half_width == pytest.approx(12.706 * 1000)
    assert easy.values == (0, 100_000)
    assert easy.at_least == (False, True)
    assert (easy.half_width, easy.difference) == (None, None)


def test_a_policy_may_lack_a_trace() -> None:
    simulation = figures_of([run("a", "t1", 0), run("b", "t2", 8000)])
    first, second = found(simulation, "gar_mean").estimates
    assert (first.values, second.values) == ((0.0, None), (None, 0.5))
    assert second.difference is None


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="one history at least"):
        figures_of([])
    with pytest.raises(ValueError, match="policy a was simulated twice on trace t"):
        figures_of([run("a", "t", 0), run("a", "t", 0)])


def test_simulations_of_different_length_and_refused_jobs_are_noted() -> None:
    longer = run("b", "t", 0, refused="no node is so large")
    longer.horizon = 200_000
    notes = figures_of([run("a", "t", 0), longer]).notes
    assert notes == (
        "the simulations end between 100 s and 200 s: shares of time are over different times",
        "b on t: 1 job could not even start in the empty cluster (no node is so large)",
    )


def test_the_document_is_what_its_schema_says() -> None:
    simulation = figures_of([drawn(seed, "p", f"t{seed}") for seed in range(3)])
    data = json.loads(simulation.model_dump_json(by_alias=True, exclude_none=True))
    Draft202012Validator(published_schema("Simulation")).validate(data)
    text = simulation.model_dump_json(by_alias=True)
    assert Simulation.model_validate_json(text) == simulation


def test_every_group_prints_its_formulas() -> None:
    simulation = compared()
    text = render(simulation_blocks(simulation, wide=True), Screen())
    for group in simulation.groups:
        assert group.formulas
        if group.measures:
            assert all(formula in text for formula in group.formulas)
    assert "easy - fifo" in text


def test_tables_show_policies_beside_each_other() -> None:
    lines = render(simulation_blocks(compared()), Screen()).splitlines()
    assert lines[0] == "small: 2 policies on 2 traces, from 0s to 1m40s."
    row = next(line for line in lines if line.startswith("SOR, reserved"))
    assert row.split()[-4:] == ["37.50%", "+-158.82%", "62.50%", "+-158.82%"]
    cells = (line.split() for line in lines)
    waiting = next(row for row in cells if row[:2] == ["all", "easy"])
    assert waiting == ["all", "easy", "1", "0.5", ">50s", ">50s", ">50s", ">50s", ">50s"]


def test_only_owners_that_fall_short_the_most_are_shown() -> None:
    told = run("a", "t", 0)
    told.jobs = [job(f"n/{i}", user=f"u{i:02}", gpus=50 * i) for i in range(1, 15)]
    simulation = figures_of([told])
    short, full = (render(simulation_blocks(simulation, wide=w), Screen()) for w in (False, True))
    assert "u14" in short
    assert "u01" not in short
    assert "u01" in full


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_tables_hold_every_record_and_value(tmp_path: Path) -> None:
    histories = [drawn(1, "p, 1", "t"), drawn(2, "p2", "t")]
    simulation = figures_of(histories)
    folder = tmp_path / "made" / "here"
    jobs, stays, samples, metrics = map(rows_of, write_tables(str(folder), histories, simulation))
    assert len(jobs) == 40
    assert len(stays) == sum(len(history.stays) for history in histories)
    assert len(samples) == sum(len(history.samples) for history in histories)
    assert {row["job"] for row in stays} <= {row["name"] for row in jobs}
    assert jobs[0]["policy"] == "p, 1"
    assert [int(row["started"]) if row["started"] else None for row in jobs[:20]] == [
        record.started for record in histories[0].jobs
    ]
    assert list(metrics[0]) == [
        *("policy", "trace", "metric", "class", "value", "unit", "at_least")
    ]
    row = next(r for r in metrics if r["metric"] == "capacity_time" and r["policy"] == "p2")
    assert int(row["value"]) == histories[1].capacity * histories[1].horizon
    assert sorted(path.name for path in folder.iterdir()) == [
        *("jobs.csv", "metrics.csv", "samples.csv", "stays.csv")
    ]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotCreateError, match="file/folder: cannot be made: not a directory"):
        write_tables(str(tmp_path / "file" / "folder"), [], compared())
