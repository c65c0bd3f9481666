"""What places pods one by one looks at the clock meanwhile; counted, not timed."""

from __future__ import annotations

import pytest

from kantopt.search.insertion import fill
from kantopt.search.insertion.scores import Scores
from kantopt.search.insertion.zones import placer_of
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.preemption.reverse_trim import ReverseTrim
from kantopt.search.relocation.cheapest import Cheapest
from kantopt.search.relocation.relocate import Relocation
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


MAKERS = [Relocation, Cheapest, Preemption, ReverseTrim]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("looks", [0, 1, 2, None])
def test_room_for_one_job_is_looked_for_until_the_time_is_up(
    maker: type[Relocation | Cheapest | Preemption | ReverseTrim], looks: int | None
) -> None:
    """What has been found by then is taken, and else there is no trace."""
    nodes = [node(f"n{i}", gpu=8, rack=f"b/{i % 3}") for i in range(6)]
    spare = [node(f"m{i}", gpu=4, rack="b/m") for i in range(6)]
    runs = [job(f"r{i}", pods(count=1, gpu=4, on=[f"n{i}"]), priority=0) for i in range(6)]
    gang = pods(count=2, gpu=8, topologyRequest={"required": "rack"})
    instance = question([*nodes, *spare], [*runs, job("j", gang, priority=9)])
    (j,) = (each.index for each in instance.jobs if each.name == "default/j")
    asked: list[int] = []

    def cut() -> bool:
        asked.append(1)
        return looks is not None and len(asked) > looks

    state = State(instance)
    found = maker(placer_of(state, Strategy.BEST_FIT, cut)).make_room(j)
    assert asked
    assert found == (state.placed[instance.jobs[j].podsets[0]] == 2) == (state.mark() > 0)
    assert looks not in (0, None) or found == (looks is None)
    assert looks is None or len(asked) <= looks + 6
