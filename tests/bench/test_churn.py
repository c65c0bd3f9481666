"""Plans that nobody follows, compared with the one before: both sides see the same snapshots."""

from __future__ import annotations

from pathlib import Path

from scripts.bench.churn import Runs, run_churn

COMMAND = ["defrag", "--max-moves", "2", "--engine", "fast", "--deterministic"]


def test_a_plan_that_nobody_follows_is_told_again_where_it_can_be(tmp_path: Path) -> None:
    sides = (
        Runs(tmp_path / "knows", COMMAND, knows=True),
        Runs(tmp_path / "alone", COMMAND, knows=False),
    )
    night = [told for _, told in run_churn(1, 6, 3, tmp_path, sides)]
    assert night[0][0].values == night[0][1].values
    assert [side.standing for side in night[0]] == [0, 0]
    assert sum(knows.steps for knows, _ in night) > 0
    assert sum(knows.standing for knows, _ in night) > 0
    assert sum(a.differing for a, _ in night) <= sum(b.differing for _, b in night)
