"""What places pods one by one looks at the clock meanwhile; counted, not timed."""

from __future__ import annotations

import pytest

from kantopt.search.insertion import fill
from kantopt.search.insertion.scores import Scores
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from tests.verify.world import job, node, pods, question

SPREAD = {
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "rack", "labelSelector": {"matchLabels": {"job": "j"}}}
    ]
}


@pytest.mark.parametrize("more", [{}, SPREAD], ids=["free", "spread"])
@pytest.mark.parametrize("strategy", [Strategy.KUBE_DEFAULT, Strategy.LEAST_ALLOCATED])
def test_a_gang_of_many_pods_is_not_placed_to_its_end_once_the_time_is_up(
    strategy: Strategy, more: dict[str, object]
) -> None:
    nodes = [node(f"n{i}", cpu=10_000, rack=f"b/{i % 2}") for i in range(4)]
    instance = question(nodes, [job("j", pods(count=20_000, **more))])
    looks: list[int] = []

    def cut() -> bool:
        looks.append(1)
        return len(looks) == 3

    state = State(instance)
    placed = fill.fill(Scores(state, strategy, cut), 0, 20_000)
    assert len(looks) == 3
    assert placed == 3 * fill.CLOCK - 1
    assert fill.fill(Scores(State(instance), strategy), 0, 2 * fill.CLOCK) == 2 * fill.CLOCK
