"""Whom new pods hurt: where they go and who leaves for them is chosen at once."""

from __future__ import annotations

import random

import pytest

from kantopt.clock import Deadline
from kantopt.cp.fix_and_optimize import descents
from kantopt.problem.derived.settled import settled
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.construct import How, construct
from kantopt.search.schedule import FIX_AND_OPTIMIZE
from kantopt.search.strategy import Strategy
from kantopt.search.techniques import fix_and_optimize
from kantopt.search.techniques.fix_and_optimize import of_victims, optimize
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.generate import random_instance
from tests.oracle import best
from tests.search.helpers import FOREVER, Told, where
from tests.verify.world import job, node, placed, pods, question

WHO_THEN_WHOM = [
    {"unplaced": {"by": "priority", "unit": "gpu"}},
    {"unplaced": {"by": "priority", "unit": "job"}},
    {"evictions": {"by": "priority"}},
    "moves",
]


@pytest.fixture(autouse=True)
def _no_question_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix_and_optimize, "FEWEST", 0)


def optimized(instance: Instance, start: Placement) -> Placement:
    """What a turn of the technique makes of a plan, which the judge finds legal."""
    desk = Told(instance, start=start).desk
    assert FIX_AND_OPTIMIZE.hinders(desk) == ""
    optimize(desk, Deadline.within(10.0))
    assert check(instance, desk.incumbent.placement) == []
    return desk.incumbent.placement


def _two_gangs() -> tuple[Instance, Placement]:
    """Two new pods drive out a gang each, where one gang that is on both other nodes would do."""
    nodes = [node(name, gpu=4) for name in "abcdef"]
    jobs = [
        job("x", pods(count=2, minCount=2, gpu=4, on=["a", "b"])),
        job("y", pods(count=2, minCount=2, gpu=4, on=["c", "d"])),
        job("z", pods(count=2, minCount=2, gpu=4, on=["e", "f"])),
        job("new", pods(count=2, gpu=4), priority=1),
    ]
    instance = question(nodes, jobs, objectives=WHO_THEN_WHOM)
    return instance, placed(instance, x=[], y=[], new=["a", "c"])


def test_both_new_pods_take_the_room_of_one_gang() -> None:
    instance, start = _two_gangs()
    found = optimized(instance, start)
    gone = [name for name in "xyz" if not where(instance, found, name)]
    assert len(gone) == 1
    assert sum(where(instance, found, "new").values()) == 2


def test_members_that_gangs_can_do_without_go_rather_than_whole_gangs() -> None:
    nodes = [node(name, gpu=4) for name in "abcd"]
    jobs = [
        job("rigid", pods(count=2, minCount=2, gpu=4, on=["a", "b"])),
        job("elastic", pods(count=2, minCount=1, gpu=4, on=["c", "d"])),
        job("new", pods(gpu=4), priority=1),
    ]
    instance = question(nodes, jobs, objectives=WHO_THEN_WHOM)
    found = optimized(instance, placed(instance, rigid=[], new=["a"]))
    assert len(where(instance, found, "rigid")) == 2
    assert len(where(instance, found, "elastic")) == 1


def test_room_of_victims_is_not_for_who_may_not_evict_them() -> None:
    nodes = [node(name, gpu=4) for name in "abc"]
    jobs = [
        job("x", pods(count=2, minCount=2, gpu=4, on=["a", "b"]), priority=1),
        job("high", pods(gpu=2), priority=2),
        job("low", pods(gpu=2), priority=1),
    ]
    instance = question(nodes, jobs, objectives=WHO_THEN_WHOM)
    found = optimized(instance, placed(instance, x=[], high=["a"], low=["c"]))
    # One free node has room for both: nobody has to go.
    assert len(where(instance, found, "x")) == 2


def test_alike_pods_of_several_gangs_are_counted_together_and_dealt_out_again() -> None:
    nodes = [node(name, gpu=4) for name in "abcdef"]
    gangs = [job(f"g{i}", pods(count=2, minCount=2, gpu=2), priority=1) for i in range(2)]
    least = job("least", pods(count=2, minCount=1, gpu=2), priority=1)
    runs = job("x", pods(count=4, minCount=4, gpu=4, on=["a", "b", "c", "d"]))
    instance = question(nodes, [*gangs, least, runs], objectives=WHO_THEN_WHOM)
    start = placed(instance, g0=["e", "e"], g1=["f", "f"], least=["a"], x=[])
    small = settled(instance, start)
    assert [p.count for p in small.instance.podsets if not p.running] == [5]
    back = small.expand(small.shrink(start))
    assert [sum(x.values()) for x in back.podsets] == [sum(x.values()) for x in start.podsets]
    tiers = tiers_of(instance)
    assert measure(instance, back, tiers) == measure(instance, start, tiers)


def test_it_stands_aside_where_nobody_or_no_gang_is_evicted() -> None:
    nodes = [node(name, gpu=4) for name in "ab"]
    waits = job("new", pods(gpu=4), priority=1)
    alone = question(
        nodes,
        [job("x", pods(gpu=4, on=["a"])), job("y", pods(gpu=4, on=["b"])), waits],
        objectives=WHO_THEN_WHOM,
    )
    for start, why in (
        (placed(alone, x=[], new=["a"]), "no gang of several pods may be evicted"),
        (alone.current, "nobody is evicted"),
    ):
        desk = Told(alone, start=start).desk
        assert desk.incumbent.first_open is None or FIX_AND_OPTIMIZE.hinders(desk) == why


def test_it_stands_aside_where_the_whole_is_small_or_its_model_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance, start = _two_gangs()
    desk = Told(instance, start=start).desk
    monkeypatch.setattr(fix_and_optimize, "LARGEST", 5)
    assert FIX_AND_OPTIMIZE.hinders(desk) == "the model is too large"
    monkeypatch.setattr(fix_and_optimize, "FEWEST", 100)
    assert FIX_AND_OPTIMIZE.hinders(desk) == "the whole is searched before long"


def test_without_time_it_leaves_the_plan_as_it_is() -> None:
    instance, start = _two_gangs()
    desk = Told(instance, start=start).desk
    optimize(desk, Deadline.within(0.0))
    assert desk.incumbent.placement == start
    assert FIX_AND_OPTIMIZE.hinders(desk) == "no better plan since"


def _drawn(seed: int) -> Instance:
    rng = random.Random(f"fix-and-optimize {seed}")
    nodes = [node(f"n{i}", gpu=4) for i in range(4)]
    free = dict.fromkeys((f"n{i}" for i in range(4)), 4)
    jobs = []
    for i in range(4):
        gpus = rng.choice((1, 2, 4))
        on = [name for name in sorted(free) if free[name] >= gpus][: rng.randint(1, 2)]
        for name in on:
            free[name] -= gpus
        if on:
            least = rng.randint(1, len(on))
            priority = rng.randint(0, 1)
            jobs.append(
                job(
                    f"r{i}", pods(count=len(on), minCount=least, gpu=gpus, on=on), priority=priority
                )
            )
    jobs += [
        job(
            f"new{i}",
            pods(count=rng.randint(1, 2), gpu=rng.choice((2, 4))),
            priority=rng.randint(1, 2),
        )
        for i in range(2)
    ]
    return question(nodes, jobs, objectives=WHO_THEN_WHOM, limits={"moves": 0})


@pytest.mark.parametrize("seed", range(40))
def test_where_as_many_are_placed_and_nobody_moves_it_comes_to_the_optimum(seed: int) -> None:
    instance = _drawn(seed)
    tiers = tiers_of(instance)
    start = construct(instance, FOREVER, How(Strategy.BEST_FIT))
    value, optimum = best(instance)
    assert value is not None
    assert optimum is not None
    desk = Told(instance, start=start).desk
    pending = [p.index for p in instance.podsets if not p.running]
    same = all(start.placed(s) == optimum.placed(s) for s in pending)
    if FIX_AND_OPTIMIZE.hinders(desk) == "":
        optimize(desk, Deadline.within(10.0))
        assert check(instance, desk.incumbent.placement) == []
    assert desk.incumbent.values >= value
    if same and desk.incumbent.placement is not start:
        assert desk.incumbent.values == value == measure(instance, optimum, tiers)


@pytest.mark.parametrize("seed", range(1, 60))
def test_of_any_question_what_it_chooses_is_legal_and_begins_with_the_plan(seed: int) -> None:
    instance = random_instance(seed)
    start = construct(instance, FOREVER, How(Strategy.BEST_FIT))
    small, tiers = settled(instance, start), of_victims(tiers_of(instance))
    weighed = [tier for tier in tiers if not tier.of_waiting]
    begin = small.shrink(start)
    if check(instance, start):
        pytest.skip("a required job has no place")
    assert check(small.instance, begin) == []
    last = measure(small.instance, begin, weighed)
    for found in descents(small.instance, weighed, begin, 0, Deadline.within(5.0)):
        assert check(instance, small.expand(found)) == []
        assert measure(small.instance, found, weighed) < last
        last = measure(small.instance, found, weighed)
