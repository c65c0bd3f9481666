"""The reduced question: what is found and proved in it is found and proved of the whole."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kantopt.clock import Deadline
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.construct import How, construct
from kantopt.search.engine.desk import Desk
from kantopt.search.schedule import search
from kantopt.search.strategy import Strategy
from kantopt.search.techniques.symmetry import undisturbed
from tests.campaign import some
from tests.search.helpers import Told
from tests.search.test_orbits import STAYS, alike
from tests.solved import solved
from tests.verify.world import job, node, pods, question

OBJECTIVES = [
    {"unplaced": {"unit": "pod"}},
    {"evictions": {"by": "all", "unit": "pod"}},
    "moves",
    "fragmented_nodes",
    "excess_nodes",
]


def spread_out(instance: Instance, seconds: float = 20.0) -> Told:
    """Begin with what waits on the emptiest nodes."""
    start = construct(instance, Deadline(None), How(Strategy.LEAST_ALLOCATED))
    return Told(instance, start=start, seconds=seconds)


def large(objectives: Sequence[object] = OBJECTIVES) -> Instance:
    """Some of 300 nodes are in use, two by a gang that is on one too many; two pods wait."""
    nodes = [node(f"n{i}", cpu=8, gpu=8) for i in range(300)]
    jobs = [job(f"r{i}", pods(gpu=4, on=[f"n{i}"])) for i in range(2)]
    jobs.append(job("spread", pods(count=2, minCount=2, gpu=2, on=["n5", "n6"]), **STAYS))
    jobs.append(job("w", pods(count=2, gpu=6), minCount=2, priority=5))
    return question(nodes, jobs, objectives=objectives)


BEST = {"fragmented_nodes": 2, "excess_nodes": 1}
"""What waits fills the nodes of the gang; one node would hold that."""


def values(desk: Desk) -> dict[str, int]:
    """What is more than 0 of the incumbent."""
    found = zip(desk.tiers, desk.incumbent.values, strict=True)
    return {tier.name: value for tier, value in found if value}


def test_what_is_proved_on_a_few_nodes_is_proved_of_all() -> None:
    told = spread_out(large())
    assert values(told.desk) != BEST
    assert not search(told.desk)
    assert told.begun.count("symmetry") == 1
    assert told.desk.incumbent.optimal
    assert values(told.desk) == BEST


def test_it_stands_aside_while_pods_could_be_disturbed() -> None:
    told = spread_out(large([{"unplaced": {"unit": "pod"}}, "fragmented_nodes"]), seconds=0.5)
    assert undisturbed(told.desk) is None
    search(told.desk)
    assert told.left_out["symmetry"] == "pods may still be disturbed"


def test_a_better_plan_from_elsewhere_on_nodes_that_are_left_out_does_no_harm() -> None:
    told = spread_out(large())
    podsets = list(told.desk.instance.current.podsets)
    podsets[-1] = {Spot(298): 1, Spot(299): 1}
    told.news.append(Placement(tuple(podsets)))
    assert not search(told.desk)
    assert told.desk.incumbent.optimal
    assert values(told.desk) == BEST


@pytest.mark.parametrize("block", some(range(4)))
def test_random_questions_are_proved_as_they_are_without_it(block: int) -> None:
    ran = 0
    for seed in range(block, 60, 4):
        instance = alike(seed)
        told = spread_out(instance)
        assert not search(told.desk), f"seed {seed}"
        ran += "symmetry" in told.begun
        incumbent, tiers = told.desk.incumbent, tiers_of(instance)
        outcome = solved(instance, tiers)
        assert outcome.placement is not None
        assert incumbent.optimal, f"seed {seed}"
        assert incumbent.values == outcome.bounds, f"seed {seed}"
    assert ran >= 5
