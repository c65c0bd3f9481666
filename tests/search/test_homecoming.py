"""Moves that nobody needs are taken back; those that somebody needs stay."""

from __future__ import annotations

import random

import pytest

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Metric
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.homecoming import come_home
from kantopt.search.state import State
from kantopt.verify.rules import is_legal
from tests.generate import random_instance
from tests.search.helpers import where
from tests.verify.world import Document, job, node, placed, pods, question

MOVES = Tier(Metric.MOVES, "pods")
OBJECTIVES = ["unplaced", "evictions", "moves"]


def standing(name: str, on: str, cpu: int = 4, **more: object) -> Document:
    """Make a job of one pod that runs."""
    return job(name, pods(cpu=cpu, on=[on]), **more)


def at_home(instance: Instance, now: Placement) -> Placement:
    best = Incumbent(instance, tiers_of(instance), now)
    come_home(best, lambda: False, "homecoming")
    return best.placement


def test_pods_in_each_others_places_go_home_together() -> None:
    instance = question(
        [node("a"), node("b")], [standing("x", "a"), standing("y", "b")], objectives=OBJECTIVES
    )
    assert at_home(instance, placed(instance, x=["b"], y=["a"])) == instance.current


def test_who_has_made_way_stays_away_and_who_moved_for_nothing_goes_home() -> None:
    nodes = [node(name) for name in "abcd"]
    jobs = [standing("x", "a"), standing("y", "b"), job("new", pods(cpu=4))]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    found = at_home(instance, placed(instance, new=["a"], x=["c"], y=["d"]))
    assert [where(instance, found, name) for name in ("new", "x", "y")] == [
        {"a": 1},
        {"c": 1},
        {"b": 1},
    ]


def test_who_has_made_way_leaves_the_place_of_another_for_one_that_is_free() -> None:
    nodes = [node(name) for name in "abcd"]
    jobs = [standing("x", "a"), standing("y", "b"), job("new", pods(cpu=4))]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    found = at_home(instance, placed(instance, new=["a"], x=["b"], y=["c"]))
    assert where(instance, found, "y") == {"b": 1}
    assert where(instance, found, "new") == {"a": 1}


def test_a_victim_comes_back_to_the_place_of_one_that_goes_home() -> None:
    """It would fit back then, so that it may not stay away."""
    nodes = [node(name) for name in "abc"]
    jobs = [standing("x", "a", priority=5), standing("v", "b", priority=1)]
    jobs += [job("new", pods(cpu=4), priority=9)]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    assert at_home(instance, placed(instance, new=["c"], x=["b"], v=[])) == placed(
        instance, new=["c"]
    )


def test_moves_that_an_objective_asks_for_stay_and_the_others_are_taken_back() -> None:
    nodes = [node(name) for name in "abcd"]
    jobs = [standing("x", "a", cpu=2), standing("y", "b", cpu=2), standing("z", "c")]
    instance = question(nodes, jobs, objectives=["nodes_in_use", "moves"])
    found = at_home(instance, placed(instance, x=["b"], z=["d"]))
    assert where(instance, found, "x") == {"b": 1}
    assert where(instance, found, "z") == {"c": 1}


def test_nothing_is_done_when_it_is_late_and_nobody_goes_home_whose_place_is_taken() -> None:
    nodes = [node("a"), node("b")]
    instance = question(nodes, [standing("x", "a")], objectives=OBJECTIVES)
    away = placed(instance, x=["b"])
    best = Incumbent(instance, tiers_of(instance), away)
    come_home(best, lambda: True, "homecoming")
    assert best.placement is away
    taken = question(nodes, [standing("x", "a"), job("new", pods(cpu=4))], objectives=OBJECTIVES)
    needed = placed(taken, x=["b"], new=["a"])
    assert at_home(taken, needed) == needed


@pytest.mark.parametrize("looks", [10, 40])
def test_who_is_home_when_it_is_late_is_home(looks: int) -> None:
    """Everybody is on the next node, for nothing, and there is room for all where they were."""
    count, asked = 50, [0]
    nodes = [node(f"n{i}") for i in range(count)]
    jobs = [standing(f"j{i}", f"n{i}", cpu=1) for i in range(count)]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    where_to = {f"j{i}": [f"n{(i + 1) % count}"] for i in range(count)}
    best = Incumbent(instance, tiers_of(instance), placed(instance, **where_to))

    def late() -> bool:
        asked[0] += 1
        return asked[0] > looks

    come_home(best, late, "homecoming")
    assert best.values[-1] == count - looks
    assert at_home(instance, placed(instance, **where_to)) == instance.current


def test_who_is_not_home_when_it_is_late_stays_where_the_plan_has_it() -> None:
    """Pairs in each other's places go home together, and those of which it is late for not."""
    count, asked = 20, [0]
    nodes = [node(f"n{i}") for i in range(count)]
    jobs = [standing(f"j{i}", f"n{i}") for i in range(count)]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    pairs = placed(instance, **{f"j{i}": [f"n{i ^ 1}"] for i in range(count)})
    best = Incumbent(instance, tiers_of(instance), pairs)

    def late() -> bool:
        asked[0] += 1
        return asked[0] > count + 10  # each alone, in vain; then all together

    come_home(best, late, "homecoming")
    assert 0 < best.values[-1] < count
    assert at_home(instance, pairs) == instance.current


def shuffled(instance: Instance, rng: random.Random) -> Placement:
    """Move pods at random, one after the other, as far as each move leaves a legal plan."""
    state = State(instance)
    running = [p for p in instance.podsets if p.running and not p.devices]
    for podset in rng.sample(running, min(len(running), 8)):
        mark, [at, *_] = state.mark(), sorted(podset.current)
        state.add(podset.index, at, -1)
        state.add(podset.index, Spot(rng.randrange(len(instance.nodes))), 1)
        if not is_legal(instance, state.placement()):
            state.undo(mark)
    return state.placement()


def test_random_moves_are_taken_back_as_far_as_the_judge_allows() -> None:
    moved = left = 0
    for seed in range(200):
        instance = random_instance(seed)
        start = shuffled(instance, random.Random(seed))
        if start.podsets == instance.current.podsets or not is_legal(instance, start):
            continue
        best = Incumbent(instance, (*tiers_of(instance), MOVES), start)
        before = best.best.key
        come_home(best, lambda: False, "homecoming")
        assert is_legal(instance, best.placement)
        assert best.best.key <= before
        moved, left = moved + before[-1], left + best.values[-1]
    assert moved
    assert left < moved / 3
