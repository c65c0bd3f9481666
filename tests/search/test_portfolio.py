"""What several strategies are asked for, under models that order objectives otherwise."""

from __future__ import annotations

import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.portfolio import run_portfolio
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
