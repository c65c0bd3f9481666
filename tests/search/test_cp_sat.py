"""When the exact model is written down without what follows from few evictions."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.search.techniques import cp_sat
from tests.search.helpers import Told
from tests.verify.world import job, node, placed, pods, question


@pytest.mark.parametrize(
    ("objectives", "there", "lazy"),
    [
        (["unplaced", "evictions", "nodes_in_use"], ["b"], True),
        (["unplaced", "evictions", "nodes_in_use"], [], False),  # who is placed is open
        (["unplaced", "nodes_in_use", "evictions"], ["b"], False),  # evictions come after it
        (["unplaced", "nodes_in_use"], ["b"], False),
    ],
)
def test_put_back_is_left_for_later_only_where_evictions_are_proved(
    monkeypatch: pytest.MonkeyPatch, objectives: list[str], there: list[str], lazy: bool
) -> None:
    nodes = [node("a", cpu=5), node("b", cpu=8), node("c", cpu=4)]
    jobs = [
        job("runs", pods(cpu=4, on=["a"]), priority=0),
        job("waits", pods(cpu=8), priority=5),
        job("small", pods(cpu=1, on=["c"]), priority=0),
    ]
    instance = question(nodes, jobs, objectives=objectives)
    seen: list[bool] = []

    def model(*args: Any, **more: Any) -> PlacementModel:
        seen.append(more["lazy"])
        return PlacementModel(*args, **more)

    monkeypatch.setattr(cp_sat, "PlacementModel", model)
    desk = Told(instance, start=placed(instance, waits=there)).desk
    assert not cp_sat.whole(desk, Deadline.within(20.0))
    assert seen == [lazy]
    assert desk.incumbent.optimal
