"""Tables over rows: shares with their denominators, the comparison, profiles."""

from __future__ import annotations

import math

import pytest

from kantopt.report.blocks import Screen, Table, render
from scripts.bench.figures import seconds, share, shifted_geometric_mean
from scripts.bench.peer import compare, peer_table
from scripts.bench.profiles import best_values, placement_profiles, proof_profiles
from scripts.bench.published import PEER_RUNS, Outcome
from scripts.bench.row import Bound
from scripts.bench.summary import outcome_table, remarks, summary_blocks
from tests.bench.rows import no_call, row

PROVED = row(
    seed=2,
    category="better+optimal",
    status="OPTIMAL",
    bounds=tuple(Bound(value) for value in row().values),
    statuses=("OPTIMAL",) * 4,
    used_share=None,
    proof_seconds=0.7,
)


def cells(table: Table, line: int) -> dict[str, str]:
    return dict(zip(table.columns, table.rows[line], strict=True))


def test_the_shifted_geometric_mean_is_as_defined() -> None:
    assert shifted_geometric_mean([0.0, 3.0]) == pytest.approx(math.sqrt(1 * 4) - 1)
    assert shifted_geometric_mean([2.0, 2.0], shift=10) == pytest.approx(2.0)


def test_what_is_unknown_is_no_number() -> None:
    assert seconds([None, 1.0, 3.0]) == "2.00"
    assert seconds([None]) == "-"
    assert share(0, 0) == "-"


def test_shares_count_all_instances_and_no_call_as_proved() -> None:
    table = outcome_table([row(), PROVED, no_call()])
    line = cells(table, 0)
    assert line["NO CALL"] == "1"
    assert line["PLACEMENT PROVED"] == "66.7 % (2/3)"
    assert line["OR WITHIN 1 POD"] == "100.0 % (3/3)"


def test_each_usage_has_a_line_and_all_together_one() -> None:
    other = row(parameters={**row().parameters, "usage": "1.00"})
    table = outcome_table([row(), other])
    assert [line[3] for line in table.rows] == ["usage 0.95", "usage 1.00", "all"]


def test_what_must_not_happen_is_said() -> None:
    assert not remarks([row(), PROVED, no_call()])
    worse = row(values=(3, 0, 0, 0))
    illegal = row(verified="no", note="2 findings, first n1: 3 of 2")
    missing = row(verified="", exit_code=-9)
    said = remarks([worse, illegal, missing])
    assert ["worse" in said[0], "illegal: 2 findings" in said[1]] == [True, True]
    assert "no plan: exit code -9" in said[2]


def test_a_search_that_broke_down_is_said_though_there_is_a_plan() -> None:
    note = "warning: the search by ejection-chains failed: IndexError: list index out of range"
    (said,) = remarks([row(note=note), row(note="warning: the time limit ended the search")])
    assert said.endswith(note)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (Outcome((9, 9), 0, 5), "equal"),
        (Outcome((9, 9), 0, 4), "less disruption"),
        (Outcome((9, 9), 1, 0), "MORE DISRUPTION"),
        (Outcome((9, 8), 0, 0), "FEWER PODS"),
        (Outcome((10, 0), 9, 9), "more pods"),
    ],
)
def test_outcomes_compare_by_pods_then_evictions_then_moves(ours: Outcome, verdict: str) -> None:
    assert compare(ours, Outcome((9, 9), 0, 5)) == verdict


def test_only_the_same_instance_is_compared_with_the_published_solver() -> None:
    peer = PEER_RUNS[0]
    placed = dict(zip((4, 3, 2, 1), peer.outcome.placed, strict=True))
    ours = row(
        seed=peer.seed,
        parameters={"nodes": "32", "pods": "8", "priorities": "4", "usage": peer.usage},
        placed=placed,
        evictions=0,
        moves=7,
    )
    table = peer_table([row(seed=peer.seed), ours])
    assert table is not None
    assert len(table.rows) == 1
    assert table.rows[0][-1] == "less disruption"
    assert peer_table([row()]) is None


def test_profiles_tell_shares_of_all_instances() -> None:
    (profile,) = proof_profiles([row(), PROVED, no_call()], (0.5, 1.0))
    assert profile.shares == pytest.approx((1 / 3, 2 / 3))


def test_closeness_is_to_the_best_of_all_settings() -> None:
    fast = row(engine="fast", values=(0, 4, 0, 0))
    low = row(engine="exact", values=(1, 0, 0, 0))
    rows = [row(), fast, low]
    auto, behind, other = placement_profiles(rows, best_values(rows, []), (0, 1, 2))
    assert auto.shares == (1, 1, 1)
    assert behind.shares == (0, 0, 1)
    assert other.shares == (0, 0, 0)  # a tier above is worse, however low this one


def test_everything_fits_on_a_page() -> None:
    text = render(summary_blocks([row(), PROVED, no_call()], []), Screen())
    assert "Performance profile" in text
