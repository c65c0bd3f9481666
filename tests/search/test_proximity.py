"""Proximity search: as near to the last plan as what is held allows, and the proof of it."""

from __future__ import annotations

import random

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import changes_tier, tiers_of
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.known import Bound
from kantopt.search.nearer import nearer
from kantopt.search.schedule import FIRST, IN_TURN, PROXIMITY, search
from kantopt.search.techniques.proximity import nearest
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.oracle import best
from tests.verify.world import job, node, placed, pods, question

LIMIT = Deadline.within(3600)


def brought(instance: Instance, now: Placement, **budget: float) -> tuple[Desk, list[Bound]]:
    """Bring a plan nearer; the desk and the bounds that were told."""
    told: list[Bound] = []
    line = Line(found=lambda _: None, bound=told.append, note=lambda _: None)
    desk = Desk(instance, tiers_of(instance), now, (), Budget(LIMIT, **budget), line)
    if not PROXIMITY.hinders(desk):
        nearest(desk, LIMIT)
    return desk, told


def two_for_one(more: int = 0) -> tuple[Instance, Placement, Placement]:
    """A pod that fills a node and two that share one, each where the last plan wants the others."""
    nodes = [node(name, cpu=4) for name in ("a", "b", *(f"full{k}" for k in range(more)))]
    jobs = [job("big", pods(cpu=4)), job("one", pods(cpu=2)), job("two", pods(cpu=2))]
    wants = [
        {"job": f"default/{name}", "podSet": "main", "state": "pending", "nodes": {at: 1}}
        for name, at in (("big", "a"), ("one", "b"), ("two", "b"))
    ]
    instance = question(nodes, jobs, objectives=["unplaced", "changes_to_plan"], last_plan=wants)
    now = placed(instance, big=["b"], one=["a"], two=["a"])
    return instance, now, placed(instance, big=["a"], one=["b"], two=["b"])


def test_more_than_two_pods_change_places_at_once() -> None:
    instance, now, last = two_for_one()
    by_steps = Incumbent(instance, tiers_of(instance), now)
    nearer(by_steps, last, lambda: False, "returning")
    assert by_steps.placement == now, "single changes do not get there"
    desk, told = brought(instance, now)
    assert desk.incumbent.placement == last
    assert told == []  # 0 needs no proof


def test_of_many_nodes_only_those_where_plans_differ_are_solved() -> None:
    instance, now, last = two_for_one(more=200)
    assert brought(instance, now)[0].incumbent.placement == last


def test_it_stands_aside_without_a_last_plan_and_where_nothing_is_new() -> None:
    bare = question([node("a", cpu=4)], [job("x", pods(cpu=4))], objectives=["unplaced"])
    assert "no last plan" in PROXIMITY.hinders(brought(bare, bare.current)[0])
    desk, _ = brought(*two_for_one()[:2])
    assert PROXIMITY.hinders(desk) == "as near to the last plan as can be"


def small(seed: int) -> tuple[Instance, Placement]:
    """Pods of several sizes, some of which run, a last plan drawn at random, another plan."""
    rng = random.Random(seed)
    nodes = [node(name, cpu=4) for name in "abc"]
    free, jobs, wants = dict.fromkeys("abc", 4), [], []
    for k in range(6):
        cpu, at = rng.choice((1, 2, 2, 3)), rng.choice("abc")
        runs = free[at] >= cpu and rng.random() < 0.4
        free[at] -= cpu if runs else 0
        podset = pods(on=[at] if runs else [], cpu=cpu)
        jobs.append(job(f"j{k}", podset, priority=rng.choice((5, 9))))
        if rng.random() < 0.8:
            state, wanted = "running" if runs else "pending", {rng.choice("abc"): 1}
            wants.append(
                {"job": f"default/j{k}", "podSet": "main", "state": state, "nodes": wanted}
            )
    asked = ["unplaced", "evictions", "changes_to_plan", "moves"]
    instance = question(nodes, jobs, objectives=asked, last_plan=wants)
    start = best(question(nodes, jobs, objectives=asked[:2]))[1]
    assert start is not None
    return instance, start


def test_bounds_and_plans_agree_with_trying_everything() -> None:
    """From a plan that is the best of all above it finds the least distance, and proves it."""
    moved = proved = 0
    for seed in some(range(240), of=8):
        instance, start = small(seed)
        value, _ = best(instance)
        i = changes_tier(tiers_of(instance))
        assert value is not None
        if i is None:
            continue  # the last plan wants what there is
        before = measure(instance, start, tiers_of(instance))
        assert before[:i] == value[:i]
        desk, told = brought(instance, start, seed=seed)
        assert desk.incumbent.values[: i + 1] == value[: i + 1], f"seed {seed}"
        assert not check(instance, desk.incumbent.placement), f"seed {seed}"
        assert all(bound.bound <= value[bound.tier] for bound in told), f"seed {seed}"
        moved += before[i] > value[i]
        proved += any(bound.tier == i and bound.bound == value[i] for bound in told)
    assert min(moved, proved) >= 20


def test_work_that_is_counted_gives_the_same_plan_again() -> None:
    instance, now, last = two_for_one()
    found = [brought(instance, now, work=0.4)[0].incumbent.placement for _ in range(2)]
    assert found == [last, last]


def test_it_comes_last_in_time_that_is_kept_for_it() -> None:
    instance, now, last = two_for_one()
    begun: list[str] = []
    line = Line(
        found=lambda _: None,
        bound=lambda _: None,
        note=lambda _: None,
        begun=lambda technique: begun.append(technique.name),
    )
    without = {turn.technique.name for turn in (*FIRST, *IN_TURN)}.difference({"relaxation"})
    deadline = Deadline.within(20)
    desk = Desk(instance, tiers_of(instance), now, (), Budget(deadline), line, without)
    search(desk)
    assert begun[0] == "relaxation"
    assert begun[-1] == "proximity"
    assert desk.incumbent.placement == last
    assert desk.budget.deadline is deadline
