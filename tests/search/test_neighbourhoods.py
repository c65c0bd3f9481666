"""Neighbourhoods: legal and better each time, only where they are free, never past the optimum."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.around import Around
from kantopt.cp.descent import Descent, descend
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import Effort
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.freed import (
    CHOICES,
    Choice,
    View,
    between_moved,
    several_domains,
    whole_domains,
)
from kantopt.search.strategy import Strategy
from kantopt.search.techniques.neighbourhoods import Neighbourhoods, nearby
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance
from tests.oracle import best
from tests.questions import hard_question
from tests.search.helpers import Told, where
from tests.verify.world import job, node, placed, pods, question

REPEATABLE = Deadline(None, deterministic=True)


def started(instance: Instance, start: Placement, seed: int = 0) -> Neighbourhoods:
    return Neighbourhoods(Incumbent(instance, tiers_of(instance), start), seed, REPEATABLE)


def missing(instance: Instance, placement: Placement) -> int:
    """Required jobs that are missing; nothing else may be wrong."""
    found = check(instance, placement)
    assert [fault for fault in found if fault.rule != Rule.REQUIRED] == []
    return len(found)


def steps(instance: Instance, start: Placement, number: int, seed: int = 0) -> Iterator[Placement]:
    """What some steps find, after making sure that each is legal and better than those before."""
    run, tiers = started(instance, start, seed), tiers_of(instance)
    values, lacking = measure(instance, start, tiers), missing(instance, start)
    for _ in range(number):
        found = run.step(1.0)
        if found is not None:
            assert found is run.best.placement
            assert measure(instance, found, tiers) == run.best.values < values
            assert missing(instance, found) <= lacking
            values, lacking = run.best.values, missing(instance, found)
            yield found


@pytest.mark.parametrize("seeds", [range(k, k + 15) for k in some(range(0, 120, 15))], ids=str)
def test_steps_come_to_the_optimum_of_small_questions_and_not_past_it(seeds: range) -> None:
    reached = asked = 0
    for seed in seeds:
        instance = random_instance(seed)
        tiers = tiers_of(instance)
        start = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
        optimum, _ = best(instance)
        if optimum is None or missing(instance, start):
            continue  # what is required may cost more than the optimum counts
        found = [start, *steps(instance, start, 8, seed)][-1]
        values = measure(instance, found, tiers)
        assert values >= optimum, f"seed {seed}"
        asked += 1
        reached += values == optimum
    # Weights reach a part of the tiers only, and tiers may be worse on the way by so much only.
    assert reached >= 0.8 * asked > 0


@pytest.mark.parametrize("model", ["mixed", "placement-first"])
def test_gangs_devices_and_all_rules_are_left_in_order(model: str) -> None:
    from kantopt.schema.extends import load_model

    better = 0
    for seed in some(range(3)):
        instance = hard_question(seed, nodes=6, pods=6).instance(load_model(model))
        start = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
        better += len(list(steps(instance, start, 5, seed)))
    assert better


def test_the_same_seed_takes_the_same_steps() -> None:
    instance = random_instance(3)
    runs = [list(steps(instance, instance.current, 6, seed=5)) for _ in range(2)]
    assert runs[0]
    assert runs[0] == runs[1]


def test_nothing_changes_off_the_nodes_that_are_free() -> None:
    """One core is free on each node; with two of three nodes free, y may only go to b."""
    instance = question(
        [node("a", cpu=4), node("b", cpu=2), node("c", cpu=2)],
        [
            job("x", pods(cpu=3, on=["a"])),
            job("y", pods(cpu=1, on=["b"])),
            job("z", pods(cpu=1, on=["c"])),
            job("new", pods(cpu=2)),
        ],
        objectives=({"unplaced": {"unit": "pod"}}, "moves"),
    )
    tiers, start = tiers_of(instance), instance.current
    for free, room in (({0, 1}, {"b": 1}), ({0, 2}, {"c": 1}), ({1, 2}, None)):
        around = Around(start, frozenset(free))
        model = PlacementModel(instance, around=around)
        found, closed, _ = descend(model, tiers, start, (1, 0), (0, 0), Effort(60.0, 0))
        assert closed
        assert found is not None
        if room is None:
            assert measure(instance, found, tiers) == (0, 1)
            continue
        assert where(instance, found, "new") == room
        held = next(n for n in range(3) if n not in free)
        for podset in instance.podsets:
            was, now = start.podsets[podset.index], found.podsets[podset.index]
            assert [was.get(spot) for spot in was if spot.node == held] == [
                now.get(spot) for spot in was if spot.node == held
            ]


def test_a_moved_pod_off_the_free_nodes_stays_where_it_was_moved() -> None:
    instance = question(
        [node("a"), node("b"), node("c")],
        [job("x", pods(cpu=1, on=["a"])), job("new", pods(cpu=1))],
        objectives=({"unplaced": {"unit": "pod"}}, "moves"),
    )
    start = placed(instance, x=["b"])
    model = PlacementModel(instance, around=Around(start, frozenset({2})))
    found, closed, _ = descend(model, tiers_of(instance), start, (1, 1), (0, 0), Effort(60.0, 0))
    assert closed
    assert found is not None
    assert where(instance, found, "x") == {"b": 1}
    assert where(instance, found, "new") == {"c": 1}


def test_an_incumbent_from_elsewhere_is_where_the_next_step_begins() -> None:
    instance = question(
        [node("a"), node("b")],
        [job("x", pods(cpu=4, on=["a"])), job("new", pods(cpu=4))],
        objectives=({"unplaced": {"unit": "pod"}}, "moves"),
    )
    run = started(instance, instance.current)
    run.best.adopt(placed(instance, x=["a"], new=["b"]))
    assert run.best.values == (0, 0)
    assert run.best.done
    assert run.step(1.0) is None


def test_when_the_time_is_up_no_step_is_taken() -> None:
    instance = random_instance(3)
    run = Neighbourhoods(started(instance, instance.current).best, 0, Deadline(0.0))
    assert run.step(1.0) is None


def test_whole_domains_of_one_level_are_freed_as_far_as_they_fit() -> None:
    """Hosts are none, for each is a node alone; of a domain that is too large only a part."""
    nodes = [node(f"n{i:02}", rack=f"b{i // 8}/{i // 2}") for i in range(16)]
    instance = question(nodes, [])
    view, rng = View(instance, instance.current), random.Random(1)
    assert several_domains(instance)
    seen = set()
    for _ in range(50):
        for size in (1, 5, 8, 11):
            chosen = sorted(whole_domains(view, size, rng))
            assert len(set(chosen)) == len(chosen) <= size
            if size == 8:
                seen.add(len({n // 8 for n in chosen}))
                assert len({n // 2 for n in chosen}) == 4
            if size in (5, 11) and len({n // 8 for n in chosen}) > 1:
                assert len(chosen) == size - 1
    assert seen == {1, 2}
    hosts = question([node("a"), node("b")], [])
    assert not several_domains(hosts)


def test_what_takes_two_whole_domains_at_once_is_found() -> None:
    """Two pods of one rack go to the other, or a gang has no rack at all."""
    nodes = [node(f"n{i}", cpu=4, rack=f"b/{i // 4}") for i in range(8)]
    runs = [job(f"r{i}", pods(cpu=3, on=[f"n{i}"]), priority=1) for i in (0, 1, 4, 5)]
    gang = job("g", pods(count=4, cpu=4), priority=1)
    gang["topologyRequest"] = {"required": "rack"}
    instance = question(nodes, [*runs, gang], objectives=({"unplaced": {"unit": "pod"}}, "moves"))
    found = [instance.current, *steps(instance, instance.current, 3)][-1]
    assert measure(instance, found, tiers_of(instance)) == (0, 2)


def test_a_repeatable_step_does_the_same_work_whatever_time_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    works: list[float | None] = []

    def note(*asked: Any, **_: Any) -> Descent:
        works.append(asked[-1].work)
        return Descent(None, closed=True)

    monkeypatch.setattr("kantopt.search.techniques.neighbourhoods.descend", note)
    nodes = [node(f"n{i}", rack=f"b/{i // 32}") for i in range(64)]
    instance = question(nodes, [job("g", pods(count=9, cpu=4))])
    for seconds in (2.0, 200.0):
        best = started(instance, instance.current).best
        run = Neighbourhoods(best, 0, Deadline.within(seconds, deterministic=True))
        for _ in range(4):
            run.step(0.25)
    assert works[:4] == works[4:]
    assert len(set(works)) > 1  # whole domains have more


@pytest.mark.parametrize("choice", CHOICES)
def test_each_choice_names_different_nodes_and_not_too_many(choice: Choice) -> None:
    rng = random.Random(1)
    for seed in range(30):
        instance = random_instance(seed)
        start = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
        for placement in (instance.current, start):
            for size in range(1, len(instance.nodes) + 1):
                nodes = choice(View(instance, placement), size, rng)
                assert len(set(nodes)) == len(nodes) <= size
                assert set(nodes) <= set(range(len(instance.nodes)))


def test_tiers_that_could_come_to_too_much_together_are_not_weighed_together() -> None:
    """What has to be added up exactly is what variables could come to, not only what is left."""
    jobs = [job("new", pods(gpu=8)), *(job(f"j{i}", pods(gpu=8, on=["a"])) for i in range(2))]
    nodes = [node("a", gpu=16), node("b", gpu=8)]
    instance = question(nodes, jobs, objectives=({"unplaced": {"unit": "gpu"}}, "moves"))
    start = instance.current
    model = PlacementModel(instance, around=Around(start, frozenset({0, 1})))
    floors = (8000 - 1, -(2**48))
    found, *_ = descend(model, tiers_of(instance), start, (8000, 0), floors, Effort(60.0, 0))
    assert found is not None
    assert where(instance, found, "new") == {"b": 1}


def test_nodes_between_which_pods_moved_come_with_those_that_have_room() -> None:
    """Not with those that are full, or empty, while there are others."""
    names = [f"n{i}" for i in range(9)]
    full = [job(name, pods(cpu=4, on=[name])) for name in names[4:8]]
    moved = job("m", pods(cpu=1, on=["n0"], minCount=0))
    roomy = [job(name, pods(cpu=2, on=[name])) for name in names[1:4]]
    instance = question([node(name, cpu=4) for name in names], [moved, *roomy, *full])
    more = {name: [name] for name in names[1:8]}
    view = View(instance, placed(instance, m=["n1"], **more))
    for seed in range(5):
        chosen = between_moved(view, 4, random.Random(seed))
        assert set(chosen) == {0, 1, 2, 3}


def test_what_was_learnt_of_choices_is_kept_from_turn_to_turn() -> None:
    told = Told(random_instance(3), seconds=20.0)
    nearby(told.desk, Deadline.within(0.2))
    first = told.desk.neighbourhoods
    assert first is not None
    nearby(told.desk, Deadline.within(0.2))
    assert told.desk.neighbourhoods is first
    first.spare()
    assert first.step(1.0) is None or first.best.values < told.desk.incumbent.values


def test_where_work_is_counted_they_have_a_share_of_it_and_find_the_same_each_time() -> None:
    def turn() -> tuple[tuple[int, ...], float]:
        told = Told(random_instance(3), seconds=200.0)
        deadline = Deadline.within(200.0, deterministic=True)
        told.desk.budget = Budget(deadline, work=0.02)
        nearby(told.desk, deadline)
        assert told.desk.budget.work is not None
        return told.desk.incumbent.values, told.desk.budget.work

    values, left = turn()
    assert values < Told(random_instance(3)).desk.incumbent.values
    assert 0 < left < 0.02
    assert turn() == (values, left)


def test_without_nodes_there_is_nothing_to_free() -> None:
    gang = job("g", pods(count=2, minCount=1))
    told = Told(question([], [gang], objectives=["unplaced", "moves"]))
    told.desk.budget = Budget(Deadline.within(5.0, deterministic=True), work=1.0)
    nearby(told.desk, told.desk.budget.deadline)
    assert told.desk.budget.work == 1.0
