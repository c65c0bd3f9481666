"""Who waits: jobs that may be anywhere are placed anew, by patterns of nodes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.techniques.node_patterns import refill
from kantopt.verify.rules import check
from tests.oracle import best
from tests.search.helpers import Told
from tests.verify.world import Document, job, node, placed, pods, question

FIRST_GPUS = [
    {"unplaced": {"by": "priority", "unit": "gpu"}},
    {"unplaced": {"by": "priority", "unit": "job"}},
    "evictions",
    "moves",
]


def refilled(instance: Instance, start: Placement | None = None) -> tuple[int, ...]:
    """Values after a turn of the technique, all that it found being legal."""
    desk = Told(instance, start=start).desk
    refill(desk, Deadline.within(20.0, deterministic=True))
    assert check(instance, desk.incumbent.placement) == []
    return desk.incumbent.values


def gang(name: str, count: int, gpus: int, **more: Any) -> Document:
    return job(name, pods(count=count, gpu=gpus), **more)


def test_of_a_full_cluster_the_fewest_jobs_wait_though_as_many_gpus_are_in_use() -> None:
    """The large job takes as much as three small ones; odd sizes must go together."""
    nodes = [node(name, gpu=8) for name in "ab"]
    jobs = [gang("large", 2, 8), gang("x", 2, 5), gang("y", 2, 3)]
    instance = question(nodes, jobs, objectives=FIRST_GPUS)
    start = placed(instance, large=["a", "b"])
    assert refilled(instance, start)[:2] == (16_000, 1)


def test_a_gang_that_must_be_close_is_placed_with_the_others() -> None:
    nodes = [node(n, gpu=4, rack=f"b/{n[0]}") for n in ("a1", "a2", "b1", "b2")]
    close = gang("close", 2, 4, topologyRequest={"required": "rack"})
    jobs = [gang("i", 1, 4), gang("k", 1, 4), close]
    instance = question(nodes, jobs, objectives=FIRST_GPUS)
    start = placed(instance, i=["a1"], k=["b1"])
    assert refilled(instance, start)[:2] == (0, 0)


def test_of_gangs_that_can_do_with_less_as_many_run_as_can() -> None:
    nodes = [node(name, gpu=4) for name in "ab"]
    jobs = [job(f"j{i}", pods(count=4, minCount=2, gpu=1)) for i in range(4)]
    instance = question(nodes, jobs, objectives=FIRST_GPUS)
    start = placed(instance, j0=["a"] * 4, j1=["b"] * 4)
    assert refilled(instance, start)[0] == 0


def test_room_of_victims_is_not_for_who_may_not_evict_them() -> None:
    """Who waits with the victim's priority would fit beside the one that evicted it."""
    nodes = [node("a", gpu=8)]
    jobs = [
        job("gone", pods(gpu=8, on=["a"]), priority=1),
        gang("high", 1, 6, priority=2),
        gang("low", 1, 2, priority=1),
    ]
    instance = question(nodes, jobs, objectives=FIRST_GPUS)
    start = placed(instance, gone=[], high=["a"])
    assert refilled(instance, start) == Told(instance, start=start).desk.incumbent.values


def _drawn(seed: int) -> Instance:
    rng = random.Random(seed)
    nodes = [node(f"n{i}", gpu=rng.choice((4, 6)), cpu=8) for i in range(3)]
    jobs = [
        job(
            f"j{i}",
            pods(count=rng.choice((1, 1, 2)), gpu=rng.randint(1, 4), cpu=rng.randint(0, 2)),
            priority=rng.randint(0, 1),
        )
        for i in range(rng.randint(4, 6))
    ]
    return question(nodes, jobs, objectives=FIRST_GPUS)


@pytest.mark.parametrize("seed", range(40))
def test_from_nothing_it_comes_to_the_optimum_where_gpus_alone_are_scarce(seed: int) -> None:
    instance = _drawn(seed)
    value, _ = best(instance)
    assert value is not None
    assert refilled(instance) == value


def test_on_a_cluster_without_gpus_patterns_are_of_what_is_scarcest() -> None:
    nodes = [node(name, cpu=8) for name in "ab"]
    jobs = [
        job("large", pods(count=2, cpu=8)),
        job("x", pods(count=2, cpu=5)),
        job("y", pods(count=2, cpu=3)),
    ]
    instance = question(nodes, jobs, objectives=[{"unplaced": {"unit": "job"}}])
    assert refilled(instance, placed(instance, large=["a", "b"])) == (1,)
