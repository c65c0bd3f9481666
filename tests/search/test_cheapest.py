"""Of many places that could be cleared for a job that one whose pods cost least to move."""

from __future__ import annotations

from itertools import combinations, islice
from random import Random

import numpy as np
import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.portfolio import run_portfolio
from kantopt.search.relocation.cheapest import minimal_covers
from kantopt.search.strategy import Strategy
from tests.search.helpers import FOREVER, where
from tests.verify.world import Document, job, node, pods, question

CAPTURED = {"metadata": {"capturedAt": "2026-01-01T10:00:00Z"}}
OBJECTIVES = ["unplaced", "evictions", "lost_gpu_seconds", "moves"]


def ran(name: str, on: list[str], since: str) -> Document:
    start = f"2026-01-01T{since}:00Z"
    return job(name, pods(count=len(on), gpu=1, minCount=0, on=on), startTime=start)


SLICES = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}


@pytest.mark.parametrize("required", [(), ("gang",)])
@pytest.mark.parametrize(
    ("wish", "leaders"),
    [({"required": "rack"}, 0), ({"required": "rack"}, 1), ({"preferred": "rack"}, 0), (SLICES, 0)],
    ids=["required", "with a leader", "preferred", "slices"],
)
def test_pods_move_that_lose_least_and_not_the_fewest(
    wish: Document, leaders: int, required: tuple[str, ...]
) -> None:
    nodes = [node(f"{rack}{i}", gpu=8, rack=f"x/{rack}") for rack in "pq" for i in (1, 2)]
    nodes.append(node("free", gpu=7, rack="x/r"))
    leader = [pods("leader", topologyRequest=wish)] * leaders
    jobs = [
        ran("long", ["p1", "p2"], "00:00"),
        ran("short", ["q1", "q1", "q2", "q2"], "09:59"),
        job("gang", pods(count=2, gpu=8, topologyRequest=wish), *leader, priority=9),
    ]
    instance = question(nodes, jobs, objectives=OBJECTIVES, required=required, **CAPTURED)
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, ())
    assert where(instance, best.placement, "gang/main") == {"q1": 1, "q2": 1}
    thorough = construct(
        instance, FOREVER, How(Strategy.BEST_FIT, relocate=True, thorough=True, preempt=False)
    )
    assert where(instance, thorough, "gang/main") == {"q1": 1, "q2": 1}


def test_a_gang_that_is_spread_gets_room_in_each_of_its_zones() -> None:
    """The cheapest nodes are all in zone x, where only one of its pods may be."""
    names = [*("x" + str(i) for i in range(9)), "y1", "z1"]
    nodes = [node(name, gpu=8, labels={"zone": name[0]}) for name in names]
    nodes.append(node("free", gpu=7))
    constraint = {"maxSkew": 1, "topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
    gang = {"labels": {"a": "b"}, "topologySpreadConstraints": [constraint]}
    jobs = [
        *(ran(f"r-{name}", [name] * (1 if name[0] == "x" else 2), "09:00") for name in names),
        job("gang", pods(count=3, gpu=8, **gang), priority=9),
    ]
    instance = question(nodes, jobs, objectives=OBJECTIVES, **CAPTURED)
    found = construct(
        instance, FOREVER, How(Strategy.BEST_FIT, relocate=True, thorough=True, preempt=False)
    )
    assert {name[0] for name in where(instance, found, "gang")} == set("xyz")


def test_beside_the_cheapest_nodes_off_which_pods_find_no_way_others_are_cleared() -> None:
    """On each of the cheapest two pods run that could go to one place, but not both."""
    traps = [f"trap{i}" for i in range(9)]
    nodes = [node(name, gpu=8) for name in (*traps, "dear", "empty")]
    nodes += [node("one", gpu=1, labels={"pool": "small"}), node("four", gpu=4)]
    small = {"gpu": 1, "nodeSelector": {"pool": "small"}}
    jobs = [
        *(
            job(f"{name}-{i}", pods(on=[name], **small), startTime="2026-01-01T09:59:00Z")
            for name in traps
            for i in range(2)
        ),
        ran("long", ["dear"] * 4, "00:00"),
        job("gang", pods(count=2, gpu=8), priority=9),
    ]
    instance = question(nodes, jobs, objectives=OBJECTIVES, **CAPTURED)
    found = construct(
        instance, FOREVER, How(Strategy.BEST_FIT, relocate=True, thorough=True, preempt=False)
    )
    assert where(instance, found, "gang") == {"dear": 1, "empty": 1}


def test_where_the_largest_pods_need_not_start_room_is_made_for_the_others() -> None:
    jobs = [
        *(ran(f"r-{name}", [name] * 4, "09:00") for name in "ab"),
        job("stays", pods(gpu=4, on=["a"]), movable=False),
        job("gang", pods(gpu=8, minCount=0), pods("leader", gpu=6), priority=9),
    ]
    nodes = [*(node(name, cpu=32, gpu=8) for name in "ab"), node("c", gpu=5)]
    instance = question(nodes, jobs, objectives=OBJECTIVES, **CAPTURED)
    with np.errstate(divide="raise"):
        found = construct(
            instance, FOREVER, How(Strategy.BEST_FIT, relocate=True, thorough=True, preempt=False)
        )
    assert where(instance, found, "gang/leader") == {"b": 1}


def test_no_node_of_a_minimal_cover_is_to_spare_and_none_of_them_is_left_out() -> None:
    rng = Random(1)
    for _ in range(200):
        gains = [rng.randint(1, 5) for _ in range(rng.randint(1, 7))]
        missing = rng.randint(1, 12)
        every = [
            chosen
            for size in range(1, len(gains) + 1)
            for chosen in combinations(range(len(gains)), size)
            if sum(gains[k] for k in chosen) >= missing
            and all(sum(gains[k] for k in chosen if k != one) < missing for one in chosen)
        ]
        assert list(minimal_covers(gains, missing)) == every


def test_covers_of_which_there_are_few_among_many_sets_are_not_looked_for_forever() -> None:
    """Of six large nodes any five do; in billions of sets with small ones one is to spare."""
    covers = list(islice(minimal_covers([8] * 6 + [1] * 35, 40), 70))
    assert covers
    assert set(covers) < set(combinations(range(6), 5))
