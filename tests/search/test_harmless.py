"""Who waits is placed where objectives that come before lose nothing by it."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.strategy import Strategy
from kantopt.search.tidy.harmless import above_pending, insert_harmless
from kantopt.verify.metrics import measure
from tests.search.helpers import FOREVER
from tests.verify.world import GPU, Document, job, node, pods, question

UNPLACED: dict[str, Any] = {"unplaced": {"by": "all", "unit": "job"}}


def asked(nodes: list[Document], jobs: list[Document], *above: Any) -> Instance:
    return question(nodes, jobs, objectives=[*above, UNPLACED, "moves"])


def inserted(instance: Instance, deadline: Deadline = FOREVER) -> tuple[Placement, tuple[int, ...]]:
    tiers, start = tiers_of(instance), instance.current
    above = above_pending(tiers)
    found = insert_harmless(instance, start, above, Strategy.BEST_FIT, deadline)
    return found, measure(instance, found, tiers)


NODES = [node("a", cpu=16, gpu=8), node("b", cpu=4, gpu=8), node("c", cpu=4)]
RUNS = job("runs", pods(cpu=2, gpu=1, on=["a"]))


def test_those_are_placed_for_whom_no_node_comes_into_use() -> None:
    jobs = [RUNS, job("whole", pods(gpu=8)), job("one", pods(cpu=2, gpu=1)), job("none", pods())]
    instance = asked(NODES, jobs, "nodes_in_use")
    _, values = inserted(instance)
    assert values == (1, 1, 0)  # best fit by itself would take the smaller node, which is empty


def test_nodes_come_into_use_up_to_a_goal() -> None:
    jobs = [RUNS, *(job(f"whole-{i}", pods(gpu=8)) for i in range(2))]
    nodes = [*NODES, node("d", gpu=8)]
    _, values = inserted(asked(nodes, jobs, {"nodes_in_use": {"target": 2}}))
    assert values == (0, 1, 0)


def test_beside_those_for_whom_a_node_came_into_use_others_have_room() -> None:
    """The loose pods fit best on a node of their own, which nobody may open any more."""
    nodes = [node("a", gpu=2), node("b", gpu=4), node("c", gpu=2)]
    jobs = [
        job("runs", pods(gpu=1, on=["a"])),
        job("first", pods(gpu=3), priority=2),
        job("loose", pods(count=2, gpu=1, minCount=0), priority=1),
    ]
    _, values = inserted(asked(nodes, jobs, {"nodes_in_use": {"target": 2}}))
    assert values[-1] == 0


def test_of_jobs_that_cost_something_together_those_are_placed_that_cost_nothing() -> None:
    jobs = [RUNS, *(job(f"j{i}", pods(gpu=3)) for i in range(3))]
    slots = {"fragment_rate": {"resource": GPU, "size": 8, "of": "capacity"}}
    nodes = [node(name, cpu=16, gpu=8) for name in "ab"]
    _, values = inserted(asked(nodes, jobs, slots))
    assert values == (1, 1, 0)


def test_a_gang_grows_after_others_have_their_least() -> None:
    gang = job("gang", pods(count=8, cpu=2, minCount=2))
    jobs = [RUNS, gang, job("late", pods(cpu=10))]
    found, _ = inserted(asked(NODES[:1], jobs, "nodes_in_use"))
    assert [found.placed(s) for s in range(3)] == [1, 2, 1]


@pytest.mark.parametrize("above", [(), ("moves",), ({"evictions": {"by": "all"}}, "moves")])
def test_there_is_nothing_to_lose_above_unless_others_than_counts_of_pods_are(above: Any) -> None:
    assert above_pending(tiers_of(asked(NODES, [RUNS, job("new")], *above))) == ()


def test_nothing_is_placed_once_the_time_is_up() -> None:
    instance = asked(NODES, [RUNS, job("none")], "nodes_in_use")
    found, _ = inserted(instance, Deadline.within(0))
    assert found == instance.current
