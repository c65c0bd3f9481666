"""Jobs that fit only if some pods move to where lesser ones were."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.clearing import Clearing
from kantopt.search.construct import How, construct
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.relocation.relocate import Relocation
from kantopt.search.state import State
from kantopt.search.strategy import DEFAULT_PORTFOLIO, Strategy
from kantopt.verify.rules import check
from tests.search.helpers import where
from tests.verify.world import job, node, pods, question

STAYS = {"movable": False, "preemptible": False}


def full(**more: Any) -> Instance:
    """A pod that may move but not go, and on the other node one that may go but not move."""
    return question(
        [node("a", gpu=8), node("b", gpu=8)],
        [
            job("mover", pods(cpu=0, gpu=4, on=["a"]), priority=2, preemptible=False),
            job(
                "fixed", pods(cpu=0, gpu=4, on=["b"]), priority=2, movable=False, preemptible=False
            ),
            job("lesser", pods(cpu=0, gpu=4, on=["b"]), priority=1, movable=False),
            job("new", pods(cpu=0, gpu=8), priority=3, **more),
        ],
        objectives=["unplaced", "evictions", "moves"],
    )


@pytest.mark.parametrize("strategy", DEFAULT_PORTFOLIO)
def test_a_pod_moves_to_where_a_lesser_one_was(strategy: Strategy) -> None:
    instance = full()
    placement = construct(instance, Deadline(None), How(strategy, relocate=True))
    assert check(instance, placement) == []
    assert [placement.placed(s) for s in range(4)] == [1, 1, 0, 1]
    assert [spot.node for spot in placement.podsets[0]] == [1]


def test_nobody_goes_for_a_job_that_may_not_preempt() -> None:
    instance = full(preemptionPolicy="Never")
    placement = construct(instance, Deadline(None), How(Strategy.BEST_FIT, relocate=True))
    assert placement == instance.current


def test_who_went_in_vain_comes_back() -> None:
    """Without the pod that may move out there is nothing to gain, so nobody is gone."""
    instance = question(
        [node("a", gpu=8), node("b", gpu=8)],
        [
            job("one", pods(cpu=0, gpu=4, on=["a"]), priority=2, **STAYS),
            job("lesser", pods(cpu=0, gpu=4, on=["a"]), priority=1),
            job("two", pods(cpu=0, gpu=4, on=["b"]), priority=2, **STAYS),
            job("new", pods(cpu=0, gpu=8), priority=3),
        ],
        objectives=["unplaced", "evictions", "moves"],
    )
    placement = construct(instance, Deadline(None), How(Strategy.BEST_FIT, relocate=True))
    assert placement == instance.current


def test_who_moves_takes_the_room_of_few_rather_than_that_of_a_gang() -> None:
    """On three nodes is half the room a lesser pod's: two are a gang, one is alone."""
    half = {"cpu": 0, "gpu": 4}
    instance = question(
        [node(name, gpu=8) for name in "abcd"],
        [
            job("mover", pods(**half, on=["a"]), priority=2, preemptible=False),
            *(job(f"fixed-{n}", pods(**half, on=[n]), priority=2, **STAYS) for n in "bcd"),
            job("gang", pods(count=2, **half, on=["b", "c"]), priority=1, movable=False),
            job("alone", pods(**half, on=["d"]), priority=1, movable=False),
            job("new", pods(cpu=0, gpu=8), priority=3),
        ],
        objectives=["unplaced", "evictions", "moves"],
    )
    placement = construct(instance, Deadline(None), How(Strategy.BEST_FIT, relocate=True))
    assert check(instance, placement) == []
    assert where(instance, placement, "new") == {"a": 1}
    assert where(instance, placement, "mover") == {"d": 1}
    assert where(instance, placement, "gang") == {"b": 1, "c": 1}


def test_of_several_racks_the_one_is_emptied_that_costs_the_least() -> None:
    """Who must leave the first moves to where a gang was; who must leave the last, to free room."""
    nodes = [node(f"n{i}", gpu=8, rack=f"b/r{i // 2}") for i in range(6)]
    half = {"cpu": 0, "gpu": 4}
    instance = question(
        nodes,
        [
            job("gang", pods(count=2, cpu=0, gpu=8, on=["n0", "n4"]), priority=1, movable=False),
            job("alone", pods(**half, on=["n2"]), priority=1, movable=False),
            *(
                job(f"m{n}", pods(**half, on=[f"n{n}"]), priority=2, preemptible=False)
                for n in (1, 3, 5)
            ),
            job("fixed", pods(**half, on=["n5"]), priority=2, **STAYS),
            job(
                "new",
                pods(count=2, cpu=0, gpu=8, topologyRequest={"required": "rack"}),
                priority=3,
            ),
        ],
        objectives=["unplaced", "evictions", "moves"],
    )
    placement = construct(instance, Deadline(None), How(Strategy.BEST_FIT, relocate=True))
    assert check(instance, placement) == []
    assert where(instance, placement, "new") == {"n2": 1, "n3": 1}
    assert where(instance, placement, "gang") == {"n0": 1, "n4": 1}


@pytest.mark.parametrize("strategy", DEFAULT_PORTFOLIO)
def test_who_has_moved_for_one_job_gives_way_to_the_next(strategy: Strategy) -> None:
    """It makes room in the first rack by a move; in the second it would be in the way."""
    two = pods(count=2, cpu=0, gpu=8, topologyRequest={"required": "rack"})
    first = {**two, "nodeSelector": {"rack": "r1"}}
    instance = question(
        [node(f"n{i}", gpu=8, rack=f"b/r{1 + i // 2}") for i in range(5)],
        [
            job("lesser", pods(cpu=0, gpu=8, on=["n0"]), priority=1),
            job("probe", pods(cpu=0, gpu=1, on=["n2"]), priority=2, preemptible=False),
            job("fixed", pods(cpu=0, gpu=4, on=["n4"]), priority=2, **STAYS),
            job("first", first, priority=4),
            job("second", two, priority=3),
        ],
        objectives=["unplaced", "evictions", "moves"],
    )
    placement = construct(instance, Deadline(None), How(strategy, relocate=True))
    assert check(instance, placement) == []
    assert [placement.placed(s) for s in range(5)] == [0, 1, 1, 2, 2]


def test_a_node_costs_all_that_restarts_with_its_pods() -> None:
    instance = question(
        [node(n, gpu=8) for n in "abc"],
        [
            job("unit", pods(count=2, gpu=4, on=["a", "b"]), priority=2, disruptionMode="all"),
            job("one", pods(gpu=3, on=["c"]), priority=2),
            job("fixed", pods(gpu=1, on=["c"]), priority=2, **STAYS),
        ],
    )
    relocation = Relocation(Placer(Scores(State(instance), Strategy.BEST_FIT)))
    assert relocation.gpus.tolist() == [8000, 8000, 3000]
    assert relocation.toll.tolist() == [2, 2, 1]


def test_who_moves_counts_as_much_as_who_goes_for_it() -> None:
    """Seven racks whose pod of eight GPUs would have as many go elsewhere; in another seven go."""
    full = [node(f"r{k}", gpu=8, rack=f"b/r{k}") for k in range(8)]
    gpus = {"cpu": 0, "preemptible": False}
    jobs = [
        *(job(f"m{k}", pods(gpu=8, on=[f"r{k}"], **gpus), priority=2) for k in range(7)),
        job("one", pods(gpu=1, on=["r7"], **gpus), priority=2),
        job("six", pods(cpu=0, gpu=6, on=["r7"], movable=False), priority=1),
        job("eight", pods(cpu=0, gpu=8, on=["x"], movable=False), priority=1),
        job("stays", pods(cpu=0, gpu=7, on=["y"]), priority=2, **STAYS),
        job("single", pods(cpu=0, gpu=1, on=["y"], movable=False), priority=1),
        job("new", pods(cpu=0, gpu=8, topologyRequest={"required": "rack"}), priority=3),
    ]
    displaced = {"displaced": {"by": "priority", "unit": "gpu"}}
    nodes = [*full, node("x", gpu=8), node("y", gpu=8)]
    instance = question(nodes, jobs, objectives=["unplaced", displaced, "evictions", "moves"])
    placement = construct(instance, Deadline(None), How(Strategy.BEST_FIT, relocate=True))
    assert check(instance, placement) == []
    assert where(instance, placement, "new") == {"r7": 1}
    assert where(instance, placement, "eight") == {"x": 1}


def cleared(instance: Instance) -> Placement:
    """The placement once nodes are cleared for the job that waits."""
    placer = Placer(Scores(State(instance), Strategy.BEST_FIT))
    clearing = Clearing(Preemption(placer), Relocation(placer), lambda: False)
    assert clearing.place(next(job.index for job in instance.jobs if job.waits))
    assert check(instance, placer.state.placement()) == []
    return placer.state.placement()


def test_as_many_nodes_are_cleared_as_it_takes_if_who_is_there_may_both_move_and_go() -> None:
    jobs = [
        job("new", pods(count=2, cpu=0, gpu=8), priority=3),
        *(job(f"low-{n}", pods(cpu=0, gpu=8, on=[n]), priority=1) for n in "ab"),
    ]
    instance = question([node("a", gpu=8), node("b", gpu=8)], jobs)
    assert where(instance, cleared(instance), "new") == {"a": 1, "b": 1}


def test_of_lesser_ones_the_least_go_and_others_move_to_where_they_were() -> None:
    jobs = [
        job("new", pods(count=2, cpu=0, gpu=8, topologyRequest={"required": "rack"}), priority=3),
        job("middle", pods(cpu=0, gpu=8, on=["a"]), priority=2),
        job("least", pods(count=2, cpu=0, gpu=8, on=["b", "x"]), priority=1),
    ]
    nodes = [node("a", gpu=8, rack="b/r"), node("b", gpu=8, rack="b/r"), node("x", gpu=8)]
    placement = cleared(instance := question(nodes, jobs))
    assert where(instance, placement, "middle") == {"x": 1}
    assert where(instance, placement, "least") == {}
