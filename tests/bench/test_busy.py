"""Runs on one question again and again: what is counted as equal, and what as worse."""

from __future__ import annotations

from dataclasses import replace

from kantopt.problem.build import build_instance
from kantopt.report.blocks import Paragraph, Table
from kantopt.schema.extends import load_model
from kantopt.verify.rules import check
from scripts.bench.busy import COLUMNS, Repeat, commonest, repeat_blocks, to_cells
from scripts.bench.busy_cluster import NODES, busy_cluster
from scripts.bench.pairs import first_difference, pair_blocks, seeds_of
from scripts.bench.published import SEEDS

ONE = Repeat(
    0, 0, ("0", "4", "1234567"), ("a", "b", "c"), (True, False, False), False, "x", 9.5, 4.0, 1.5
)


def runs(*moves: int) -> list[Repeat]:
    """A run alone and others, by what they have in the last tier."""
    return [replace(ONE, number=i, values=("0", "4", str(m))) for i, m in enumerate(moves)]


def test_equal_runs_that_are_all_worse_than_the_one_alone_are_told_to_be() -> None:
    text, table = repeat_blocks(runs(5, *[6] * 10))
    assert isinstance(text, Paragraph)
    assert isinstance(table, Table)
    assert "10 of 10 runs have the same values in all 3 tiers, 10 are worse" in text.text
    assert table.columns[:2] == ("RUN", "c")  # only what differs
    assert table.rows[0][:2] == ("alone", "5")


def test_values_that_differ_in_the_last_digit_differ() -> None:
    assert commonest(runs(1234567, 1234568, 1234568)) == 2
    assert commonest([replace(ONE, values=())]) == 0
    assert len(to_cells(ONE)) == len(COLUMNS)


def test_the_first_tier_that_differs_decides() -> None:
    other = replace(ONE, values=("0", "3", "9999999"))
    assert first_difference(ONE, ONE) == ""
    assert first_difference(ONE, other) == "b: run 2 better"
    assert first_difference(other, ONE) == "b: run 1 better"
    text = pair_blocks([ONE, ONE, ONE, other])[0]
    assert isinstance(text, Paragraph)
    assert text.text.startswith("1 of 2 pairs")


def test_seeds_are_none_that_tables_name() -> None:
    assert not set(seeds_of(15)) & set(SEEDS)
    assert seeds_of(15)[:3] == seeds_of(3)


def test_clusters_are_legal_and_have_all_that_clusters_have() -> None:
    for seed in range(3):
        made = busy_cluster(seed)
        assert made == busy_cluster(seed)
        snapshot = made.snapshot
        assert len(snapshot.nodes) == NODES
        assert snapshot.queues
        assert snapshot.pod_disruption_budgets
        assert any(job.daemon for job in snapshot.jobs)
        assert any(job.pod_sets[0].min_count is None for job in made.pending)  # gangs
        assert made.pending_pods() > 20
        instance = build_instance(snapshot, made.pending, load_model("mixed"))
        assert not check(instance, instance.current)
