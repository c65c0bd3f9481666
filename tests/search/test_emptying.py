"""Nodes are emptied where others make way, and for these still others; goals come first."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.applicability import no_goal_open
from kantopt.search.displacement import Emptying
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.freed import View, aims, for_goals, from_the_start
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.relocation.relocate import Relocation
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.search.techniques.neighbourhoods import Neighbourhoods
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check
from tests.search.helpers import Told, where
from tests.search.test_tidy import tidied
from tests.verify.world import Document, job, node, placed, pods, question

RACKS: dict[str, Any] = {"domains_in_use": {"level": "rack", "target": 4}}


def one_after_the_other(*objectives: Any, drain: tuple[str, ...] = (), **more: Any) -> Instance:
    """Only where 4 GPUs take the place of 3 and 1, and 3 that of 2, is rack ``a`` empty."""
    jobs = [
        job("four", pods(gpu=4, on=["a"])),
        job("three", pods(gpu=3, on=["b"])),
        job("one", pods(gpu=1, on=["b"])),
        job("two", pods(gpu=2, on=["c"])),
        job("rest", pods(gpu=1, on=["c"]), movable=False),
        job("other", pods(gpu=2, on=["d"]), movable=False),
        job("last", pods(gpu=3, on=["e"]), movable=False),
    ]
    nodes = [node(name, cpu=9, gpu=4, rack=f"x/{name}") for name in "abcde"]
    return question(nodes, jobs, objectives=[*objectives, "moves"], drain=drain, **more)


def test_pods_that_make_way_have_others_make_way_for_them() -> None:
    instance = one_after_the_other()
    found = Emptying(instance).emptied([0])
    assert found is not None
    assert check(instance, found) == []
    assert where(instance, found, "four") == {"b": 1}
    assert where(instance, found, "three") == {"c": 1}
    assert measure(instance, found, tiers_of(instance)) == (4,)
    assert Emptying(instance).emptied([0], closed=[4]) is None  # there the one would go


def test_a_domain_is_emptied_so() -> None:
    """The cheapest is ``b``: 3 GPUs take the place of 2."""
    assert tidied(one_after_the_other(RACKS)) == (0, 3)


def test_a_node_is_drained_so() -> None:
    assert tidied(one_after_the_other("undrained", drain=("a",))) == (0, 4)


def test_what_a_goal_wants_empty_is_freed_with_nodes_that_have_room() -> None:
    drained = one_after_the_other("undrained", drain=("a",))
    emptied = one_after_the_other(RACKS)
    for instance in (drained, emptied):
        view = View(instance, instance.current)
        for seed in range(5):
            first, *rest = for_goals(view, 3, random.Random(seed))
            assert first not in rest
            assert set(rest).issubset({2, 3, 4}), "these have room"
    view = View(drained, drained.current)
    assert {for_goals(view, 4, random.Random(seed))[0] for seed in range(5)} == {0}


def test_a_domain_that_a_gang_waits_for_is_freed_as_a_whole() -> None:
    nodes = [node(f"{rack}{i}", gpu=4, rack=f"x/{rack}") for rack in "ab" for i in range(2)]
    runs = [job(f"r{i}", pods(gpu=1 + i % 2, on=[n["name"]])) for i, n in enumerate(nodes)]
    gang = job("g", pods(count=2, gpu=4), topologyRequest={"required": "rack"})
    instance = question(nodes, [*runs, gang])
    view = View(instance, instance.current)
    chosen = {frozenset(for_goals(view, 4, random.Random(seed))[:2]) for seed in range(9)}
    assert chosen == {frozenset({0, 1}), frozenset({2, 3})}


def test_of_domains_one_in_use_is_freed_though_empty_ones_have_more_room() -> None:
    nodes = [node(f"{rack}{i}", gpu=4, rack=f"x/{rack}") for rack in "abcdef" for i in range(2)]
    runs = [job(f"r{i}", pods(gpu=3, on=[f"a{i}"])) for i in range(2)]
    goal: dict[str, Any] = {"domains_in_use": {"level": "rack", "target": 0}}
    view = View(instance := question(nodes, runs, objectives=[goal, "moves"]), instance.current)
    chosen = [for_goals(view, 4, random.Random(seed))[:2] for seed in range(9)]
    assert all(set(first) == {0, 1} for first in chosen)


@pytest.mark.parametrize(
    ("objectives", "goal"),
    [(["undrained"], True), ([RACKS], True), (["nodes_in_use"], False), (["moves"], False)],
)
def test_goals_that_take_room_come_first_while_they_are_open(
    objectives: list[Any], goal: bool
) -> None:
    instance = one_after_the_other(*objectives, drain=("a",) if "undrained" in objectives else ())
    told = Told(instance)
    assert bool(no_goal_open(told.desk)) is not goal
    assert aims(told.desk.tiers[0]) is goal


def test_a_job_that_a_goal_places_costs_what_one_costs_that_is_required() -> None:
    runs = [job(f"r{n}", pods(gpu=g, on=[n])) for n, g in (("a", 2), ("b", 1), ("c", 3))]
    wanted: Document = job("new", pods(gpu=8))
    nodes = [node(name, gpu=8) for name in "abc"]
    placed: dict[str, Any] = {"unplaced": {"by": "priority", "unit": "job", "target": 0}}
    goal = question(nodes, [*runs, wanted], objectives=[placed, "moves"], limits={"evictions": 0})
    values = (0,) * (len(tiers_of(goal)) - 1)
    assert bounds(goal, tiers_of(goal), (*values, 1))[-1] == 1
    missed = (*values[:-1], 1, 1)
    assert bounds(goal, tiers_of(goal), missed)[-1] == 0


def racks_of_two(*objectives: Any, drain: tuple[str, ...] = (), **more: Any) -> Instance:
    """A gang has the first rack, whose other node is taken; only the last has room for all of it.

    In the second a node is free.
    """
    gang = job("g", pods(count=2, gpu=4, on=["a0", "a1"]), topologyRequest={"required": "rack"})
    stays = [job(f"s{n}", pods(gpu=4, on=[n]), movable=False) for n in ("a2", "b0", "b1", "c2")]
    nodes = [node(f"{r}{i}", cpu=9, gpu=4, rack=f"x/{r}") for r in "abc" for i in range(3)]
    new = more.pop("new", ())
    return question(nodes, [gang, *stays, *new], objectives=objectives, drain=drain, **more)


def test_a_gang_leaves_its_rack_whole_where_a_node_is_drained() -> None:
    assert tidied(racks_of_two("undrained", "moves", drain=("a0",))) == (0, 2)


def test_a_gang_leaves_its_rack_whole_for_an_empty_one() -> None:
    goal: dict[str, Any] = {"nodes_in_use": {"selector": "rack=a", "target": 1}}
    assert tidied(racks_of_two(goal, "moves")) == (0, 2)


def test_a_gang_leaves_its_rack_whole_for_a_job() -> None:
    new = job("new", pods(count=2, gpu=4, nodeSelector={"rack": "a"}))
    instance = racks_of_two("unplaced", "moves", new=[new], limits={"evictions": 0})
    state = State(instance)
    placer = Placer(Scores(state, Strategy.BEST_FIT))
    assert Relocation(placer).make_room(instance.job_index["default/new"])
    placement = state.placement()
    assert check(instance, placement) == []
    assert set(where(instance, placement, "new")) == {"a0", "a1"}
    assert set(where(instance, placement, "g")) == {"c0", "c1"}


def test_room_for_a_goal_is_looked_for_from_the_snapshot_as_well() -> None:
    """Two pods have changed places in vain, on nodes that are full: they are where they were."""
    nodes = [node(n, gpu=1) for n in "abcd"]
    jobs = [job(f"r{n}", pods(gpu=1, on=[n])) for n in "acd"]
    instance = question(nodes, jobs, objectives=["undrained", "moves"], drain=["a"])
    moved = placed(instance, ra=["b"], rc=["d"], rd=["c"])
    assert from_the_start(View(instance, moved), 4, random.Random(0)) == [0, 1]
    run = Neighbourhoods(
        Incumbent(instance, tiers_of(instance), moved), 0, Deadline(None, deterministic=True)
    )
    run.aim()
    found = run.step(1.0)
    assert found is not None
    assert measure(instance, found, tiers_of(instance)) == (0, 1)
