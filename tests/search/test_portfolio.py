"""What several strategies are asked for, under models that order objectives otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search import portfolio
from kantopt.search.construct import construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.portfolio import run_portfolio
from kantopt.search.strategy import DEFAULT_PORTFOLIO
from tests.search.helpers import FOREVER, where
from tests.verify.world import job, node, pods, question


@pytest.mark.parametrize("required", [(), ("big",)])
@pytest.mark.parametrize("harm", ["evictions", "disruption_cost", "moves"])
def test_where_harm_comes_first_others_are_placed_though_one_would_disturb_somebody(
    harm: str, required: tuple[str, ...]
) -> None:
    """A placement with needless victims is worse than none, and all of it would be refused."""
    nodes = [node("full", cpu=8), node("free", cpu=4)]
    jobs = [
        job("r", pods(cpu=8, on=["full"]), priority=1),
        job("big", pods(cpu=8), priority=9),
        job("small", pods(cpu=2), priority=5),
        job("other", pods(count=2, cpu=2, minCount=1), priority=5),
    ]
    objectives = list(dict.fromkeys([harm, "evictions", "unplaced", "moves"]))
    instance = question(nodes, jobs, objectives=objectives, required=required)
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, ())
    assert where(instance, best.placement, "small") == {"free": 1}
    assert where(instance, best.placement, "other") == {"free": 1}
    assert where(instance, best.placement, "big") == ({"full": 1} if required else {})


@pytest.mark.parametrize(("share", "alone"), [(0.0, True), (1.0, False)])
def test_it_is_told_if_there_was_time_for_one_strategy_only(
    monkeypatch: pytest.MonkeyPatch, share: float, alone: bool
) -> None:
    """A job that fits nowhere: no strategy meets the bounds, which would end it."""
    tried: list[str] = []

    def counted(*asked: Any, **more: Any) -> Placement:
        tried.append(asked[2].value)
        return construct(*asked, **more)

    monkeypatch.setattr(portfolio, "construct", counted)
    apart = job("apart", pods(count=2, cpu=3), pods(name="v", count=2, cpu=5), minCount=4)
    instance = question([node("a", cpu=8), node("b", cpu=7)], [apart, job("one", pods(cpu=1))])
    best = Incumbent(instance, tiers_of(instance), instance.current)
    asked = best, Deadline.within(100.0), DEFAULT_PORTFOLIO
    assert run_portfolio(*asked, share=share)[1] is alone
    assert tried == [each.value for each in DEFAULT_PORTFOLIO[: 1 if alone else None]]
