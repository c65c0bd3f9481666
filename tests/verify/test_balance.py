"""Load of nodes above a share: what it is measured at, and bounds of it by arithmetic."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.problem.tiers import tiers_of
from kantopt.schema.consistency import check_model
from kantopt.verify.metrics import bounds, measure
from tests.oracle import best
from tests.questions import model
from tests.solved import solved
from tests.verify.world import Document, job, node, pods, question, values

NODES = [node("a", cpu=10), node("b", cpu=10), node("wide", cpu=30)]


def above(target: Any, **more: Any) -> list[Any]:
    return [{"balance": {"resources": ["cpu"], "target": target, **more}}]


def only(found: dict[str, int]) -> int:
    """Value of the only tier."""
    (value,) = found.values()
    return value


@pytest.mark.parametrize(
    ("target", "here", "there"),
    [(0, 900 + 100, 900 + 34), (50, 400, 400), ("89.9", 1, 1), (90, 0, 0)],
)
def test_what_is_above_the_target_counts_in_thousandths_of_the_node_rounded_up(
    target: Any, here: int, there: int
) -> None:
    jobs = [job("r", pods(cpu=9, on=["a"])), job("s", pods(cpu=1, on=["b"]))]
    instance = question(NODES, jobs, objectives=above(target))
    assert only(values(instance)) == here
    assert only(values(instance, s=["wide"])) == there


def test_each_resource_counts_by_itself_and_daemons_are_load_as_others_are() -> None:
    nodes = [node("a", cpu=10, offers={"memory": "10Gi"})]
    jobs = [job("r", pods(cpu=8, on=["a"]))]
    jobs[0]["podSets"][0]["requests"]["memory"] = "9Gi"
    instance = question(nodes, jobs, objectives=[{"balance": {"target": 75}}])
    assert values(instance) == {"balance[cpu, memory above 75%]": 50 + 150}
    agent = [job("agent", pods(cpu=8, on=["a"]), daemon=True)]
    assert only(values(question(nodes, agent, objectives=above(75)))) == 50


def test_nodes_that_are_not_asked_for_or_cannot_be_used_do_not_count() -> None:
    jobs = [job("r", pods(count=2, minCount=0, cpu=9, on=["a", "b"]))]
    cordoned = [{**NODES[0], "unschedulable": True}, NODES[1]]
    assert only(values(question(cordoned, jobs, objectives=above(50)))) == 400
    marked = [{**NODES[0], "labels": {"pool": "x"}}, NODES[1]]
    named = question(marked, jobs, objectives=above(50, selector="pool=x"))
    assert values(named) == {"balance[cpu above 50%, pool=x]": 400}


def test_what_no_node_offers_is_an_error_where_it_is_named() -> None:
    with pytest.raises(BadDataError, match="memori"):
        question(NODES, [], objectives=[{"balance": {"resources": ["memori"], "target": 1}}])
    assert only(values(question(NODES, [], objectives=[{"balance": {"target": 1}}]))) == 0


@pytest.mark.parametrize("target", ["100.1", "33.33", 101])
def test_a_target_is_a_percentage_to_a_tenth(target: Any) -> None:
    (problem,) = check_model(model(*above(target)), "m.yaml")
    assert problem.path == "objectives[0].balance.target"


def test_amounts_that_do_not_stay_exact_a_thousand_times_are_refused() -> None:
    def nodes(odd: int) -> list[Document]:
        return [{"name": f"n{i}", "allocatable": {"memory": 2**53 + odd * i}} for i in range(3)]

    asked = [{"balance": {"target": 50}}]
    with pytest.raises(BadDataError, match="thousandths, for objective balance"):
        question(nodes(1), [], objectives=asked)
    question(nodes(1), [], objectives=["unplaced"])
    question(nodes(0), [], objectives=asked)


def both(nodes: list[Any], jobs: list[Document], *asked: Any, **more: Any) -> tuple[int, int]:
    """Bound and optimum of the last tier."""
    instance = question(nodes, jobs, objectives=list(asked), **more)
    value, _ = best(instance)
    assert value is not None
    return bounds(instance, tiers_of(instance), value)[-1], value[-1]


def test_pods_that_stay_where_they_are_are_load_there() -> None:
    jobs = [job("r", pods(cpu=9, on=["a"]), movable=False), job("s", pods(cpu=8, on=["b"]))]
    limits = {"evictions": 0}
    assert both(NODES, jobs, *above(60), limits=limits) == (300, 300)


def test_load_that_is_above_the_target_of_all_nodes_is_on_the_widest() -> None:
    """34 CPUs, and 25 at half of all nodes: nine more, which are 0.3 of the wide node."""
    jobs = [job("r", pods(cpu=5, on=["a"])), job("j", pods(cpu=5)), job("k", pods(cpu=24))]
    placed = {"unplaced": {"unit": "pod", "by": "all"}}
    assert both(NODES, jobs, placed, *above(50)) == (300, 300)
    assert both(NODES, jobs, placed, *above(50), rules={"priority": "off"}) == (300, 300)
    assert both(NODES, jobs, *above(50))[0] == 0, "nobody has to be placed"
    held = [*NODES, node("else", cpu=9, unschedulable=True)]
    assert both(held, jobs, placed, *above(50))[0] == 0, "the cordoned node may hold some"


@pytest.mark.parametrize("seed", range(12))
def test_a_higher_target_is_no_harder_and_twice_of_everything_is_the_same(seed: int) -> None:
    rng = random.Random(seed)
    drawn = [(f"r{i}", rng.randint(1, 4), rng.choice("ab")) for i in range(4)]

    def asked(target: int, scale: int = 1) -> tuple[int, ...]:
        nodes = [node(n, cpu=k * scale) for n, k in (("a", 10), ("b", 10), ("wide", 30))]
        jobs = [job(name, pods(cpu=scale * cpu, on=[at])) for name, cpu, at in drawn]
        instance = question(nodes, jobs, objectives=[*above(target), "moves"])
        tiers = tiers_of(instance)
        placement = solved(instance, tiers).placement
        assert placement is not None
        return measure(instance, placement, tiers)

    low, high = rng.randint(0, 30), rng.randint(30, 60)
    assert asked(high)[0] <= asked(low)[0]
    assert asked(low, 2) == asked(low)
