"""What is drawn, before it is drawn."""

from __future__ import annotations

from math import log

import pytest

from kantopt.errors import UsageError
from scripts.bench.grid import Grid
from scripts.bench.plots import cost_by_size, guide
from scripts.bench.row import Row
from scripts.bench.suites import SUITES
from tests.bench.rows import row


def sized(nodes: int, jobs: int, seconds: float, kind: str) -> Row:
    return row(
        size={"nodes": nodes, "jobs": jobs, "pods": 9, "pending": 1},
        wall_seconds=seconds,
        parameters={"kind": kind},
    )


def test_cost_is_drawn_by_nodes_and_jobs_and_kind() -> None:
    rows = [sized(100, 20, 2.0, "kant"), sized(10, 2, 1.0, "kant"), sized(30, 4, 3.0, "nvl72")]
    series = cost_by_size(rows, "wall_seconds")
    assert {label.rsplit(maxsplit=1)[-1]: points for label, points in series.items()} == {
        "kant": [(12, 1.0), (120, 2.0)],
        "nvl72": [(34, 3.0)],
    }
    assert cost_by_size([row(first_seconds=None)], "first_seconds") == {}


def test_the_guide_meets_the_dearest_of_the_largest() -> None:
    line = guide([(10, 1.0), (100, 4.0), (1000, 30.0), (1000, 20.0)])
    assert line[0][0] == 10
    assert line[-1][0] == 1000
    assert line[-1][1] == pytest.approx(30.0)
    n, cost = line[20]
    assert cost == pytest.approx(30.0 * n * log(n) / (1000 * log(1000)))


def test_one_size_has_no_guide() -> None:
    assert guide([(10, 1.0), (10, 2.0)]) == []
    assert guide([]) == []


def test_golden_instances_have_models_of_their_own_only() -> None:
    suite = SUITES["golden"]
    assert len(suite.cases(Grid())) == 30
    with pytest.raises(UsageError, match="expected own"):
        suite.model("training")
