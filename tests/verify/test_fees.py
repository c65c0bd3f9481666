"""Price and power of nodes in use: what they are measured at, and bounds of them by arithmetic."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.bounds.fees import cheapest
from kantopt.verify.metrics import bounds, measure
from tests.oracle import best
from tests.solved import solved
from tests.verify.world import Document, job, node, pods, question, values

NODES = [
    node("a", gpu=8, price=10, idlePower=800, powerPerGpu=500),
    node("b", gpu=4, price="4.5", idlePower=300, powerPerGpu=700),
    node("c", cpu=9, price="0.000001", idlePower=100),
]


def test_nodes_in_use_cost_their_price_and_daemons_use_none() -> None:
    jobs = [
        job("r", pods(count=2, minCount=0, gpu=1, on=["a", "b"])),
        job("agent", pods(on=["c"]), daemon=True),
    ]
    instance = question(NODES, jobs, objectives=["cost"])
    assert values(instance) == {"cost": 14_500_000}
    assert values(instance, r=["b", "b"]) == {"cost": 4_500_000}
    assert values(instance, r=["c", "b"]) == {"cost": 4_500_001}


def test_power_is_drawn_by_nodes_in_use_and_by_each_gpu_that_a_pod_holds() -> None:
    jobs = [job("r", pods(count=2, minCount=0, gpu=2, on=["a", "b"])), job("cpu")]
    instance = question(NODES, jobs, objectives=["energy"])
    assert values(instance) == {"energy": 1000 * (800 + 2 * 500 + 300 + 2 * 700)}
    assert values(instance, r=["a", "a"]) == {"energy": 1000 * (800 + 4 * 500)}
    assert values(instance, r=[], cpu=["c"]) == {"energy": 100_000}


def test_shares_of_a_gpu_draw_their_share_of_its_power() -> None:
    devices = [{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}]
    shared = node("s", devices=devices, powerPerGpu=300)
    need = [{"class": "gpu", "requests": {"gpu": "300m"}}]
    instance = question([shared], [job("k", pods(devices=need))], objectives=["energy"])
    assert values(instance, k=[("s", 1)]) == {"energy": 90_000}


@pytest.mark.parametrize("objective", ["cost", "energy"])
def test_nodes_that_nobody_may_use_and_others_than_those_selected_do_not_count(
    objective: str,
) -> None:
    jobs = [job("r", pods(count=2, minCount=0, on=["a", "b"]))]
    cordoned = {**NODES[0], "unschedulable": True}
    here = values(question([cordoned, *NODES[1:]], jobs, objectives=[objective]))
    only_b = values(question(NODES, [job("r", pods(on=["b"]))], objectives=[objective]))
    assert here == only_b
    marked = {**NODES[1], "labels": {"pool": "x"}}
    asked = [{objective: {"selector": "pool=x"}}]
    named = values(question([NODES[0], marked, NODES[2]], jobs, objectives=asked))
    assert list(named.values()) == list(only_b.values())


def test_goals_are_written_in_units_of_price_and_watts() -> None:
    jobs = [job("r", pods(count=2, minCount=0, gpu=1, on=["a", "b"]))]
    asked: list[Any] = [{"cost": {"target": "14.25"}}, {"energy": {"target": 2300}}]
    assert values(question(NODES, jobs, objectives=asked)) == {
        "cost[above goal 14.25]": 250_000,
        "energy[above goal 2300]": 0,
    }
    with pytest.raises(BadDataError, match="none has such a field"):
        question([node("n")], jobs[:0], objectives=[asked[0]])


def both(nodes: list[Any], jobs: list[Document], *asked: Any, **more: Any) -> tuple[int, int]:
    """Bound and optimum of the last tier."""
    instance = question(nodes, jobs, objectives=list(asked), **more)
    value, _ = best(instance)
    assert value is not None
    return bounds(instance, tiers_of(instance), value)[-1], value[-1]


def test_the_cheapest_nodes_that_hold_the_gpus_which_are_placed() -> None:
    """Five GPUs: on a alone for 10, or on b, which holds four, and one of the others."""
    nodes = [*NODES[:2], node("d", gpu=2, price=6)]
    jobs = [job("j", pods(count=5, cpu=0, gpu=1))]
    assert both(nodes, jobs, "unplaced", "cost") == (10_000_000, 10_000_000)
    assert both(nodes, jobs, "unplaced", "energy") == (2_300_000, 2_300_000)


def test_frugal_nodes_are_told_by_idle_power_and_by_gpus_together() -> None:
    jobs = [job("large", pods(gpu=4)), job("small", pods(gpu=1))]
    assert both(NODES[:2], jobs, "unplaced", "energy") == (3_300_000, 3_300_000)
    assert both(NODES[:2], jobs[1:], "unplaced", "energy") == (1_000_000, 1_000_000)


def test_what_can_leave_no_node_is_paid_for() -> None:
    jobs = [
        job("stays", pods(on=["a"], movable=False)),
        job("moves", pods(on=["b"])),
    ]
    limits = {"evictions": 0, "moves": 0}
    assert both(NODES, jobs, "cost", limits=limits) == (14_500_000, 14_500_000)
    assert both(NODES, jobs, "cost", limits={"evictions": 0}) == (10_000_000, 10_000_000)


def test_moves_that_a_price_takes_are_counted() -> None:
    """To come from 14.5 to 10.1 the pods of b leave it, three of them; a could go for two."""
    jobs = [
        job("x", pods(count=2, minCount=0, cpu=0, on=["a"] * 2), movable=False),
        job("y", pods(count=3, minCount=0, cpu=0, on=["b"] * 3)),
    ]
    limits = {"evictions": 0}
    assert both(NODES[:2], jobs, {"cost": {"target": "10.1"}}, "moves", limits=limits) == (3, 3)


@pytest.mark.parametrize("seed", range(60))
def test_the_cheapest_cover_is_that_of_trying_all(seed: int) -> None:
    rng = random.Random(seed)
    rooms = [rng.randint(0, 4) for _ in range(4)]
    fees, each = [rng.randint(0, 9) for _ in rooms], [rng.randint(0, 3) for _ in rooms]
    instance = question([node(f"n{i}") for i in range(4)], [], objectives=["cost"])
    (tier,) = tiers_of(instance)
    wanted = rng.randint(0, sum(rooms))
    for extra in (None, each):
        tried = (
            sum(f + k * e for f, k, e in zip(fees, held, extra or [0] * 4, strict=True) if k)
            for held in product(*(range(room + 1) for room in rooms))
            if sum(held) >= wanted
        )
        assert cheapest(instance, tier, (wanted, rooms), fees, extra) == min(tried)


def optimum(instance: Instance) -> dict[str, int]:
    tiers = tiers_of(instance)
    placement = solved(instance, tiers).placement
    assert placement is not None
    found = measure(instance, placement, tiers)
    return {tier.metric.value: value for tier, value in zip(tiers, found, strict=True)}


@pytest.mark.parametrize("seed", range(12))
def test_where_all_nodes_cost_one_their_number_is_the_price_and_twice_the_price_costs_twice(
    seed: int,
) -> None:
    rng = random.Random(seed)
    jobs = [job(f"r{i}", pods(cpu=rng.randint(1, 3), on=[rng.choice("xyz")])) for i in range(3)]
    jobs += [job(f"p{i}", pods(cpu=rng.randint(1, 3))) for i in range(2)]

    def asked(metric: str, prices: list[int]) -> dict[str, int]:
        nodes = [node(n, cpu=9, price=p) for n, p in zip("xyz", prices, strict=True)]
        return optimum(question(nodes, jobs, objectives=["unplaced", metric, "moves"]))

    counted, priced = asked("nodes_in_use", [0, 0, 0]), asked("cost", [1, 1, 1])
    assert priced["cost"] == 1_000_000 * counted["nodes_in_use"]
    assert priced["moves"] == counted["moves"]
    prices = [rng.randint(1, 5) for _ in range(3)]
    once, twice = asked("cost", prices), asked("cost", [2 * p for p in prices])
    assert (twice["cost"], twice["moves"]) == (2 * once["cost"], once["moves"])
