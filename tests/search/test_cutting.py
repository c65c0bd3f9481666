"""Bounds from shares of rooms that do not go together."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.cp.masters.cutting import best_pattern, share_prices
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.cutting import cutting_bounds
from kantopt.verify.bounds.stock import Group, Pinned, Room, Stock, dearest, least_missing
from kantopt.verify.metrics import bounds
from tests.campaign import some
from tests.generate import random_instance
from tests.oracle import best
from tests.verify.world import job, node, pods, question

FOREVER = Deadline(None)


def sharing(gpus: int, *counts: tuple[int, str, int]) -> Instance:
    """Some GPUs on one node; of each kind a number of pods, their share and their priority."""
    devices = [{"class": "gpu", "count": gpus, "capacity": {"gpu": 1}}]
    jobs: list[Any] = [
        job(
            f"j{k}",
            pods(
                count=count,
                cpu=0,
                minCount=0,
                devices=[{"class": "gpu", "requests": {"gpu": share}}],
            ),
            priority=priority,
        )
        for k, (count, share, priority) in enumerate(counts)
    ]
    return question([node("n", devices=devices)], jobs, objectives=["unplaced"])


def test_a_room_is_worth_its_dearest_contents() -> None:
    prices = {5: 50, 3: 20, 2: 15}
    rooms = [Room(size, ()) for size in (0, 1, 2, 4, 5, 7, 9, 10)]
    found = [dearest(room, [1], prices) for room in rooms]
    assert found == [0, 0, 15, 30, 50, 65, 80, 100]
    pinned = (Pinned(0, 60, 6), Pinned(0, 10, 2))
    assert dearest(Room(10, pinned), [1], prices) == 100
    assert dearest(Room(8, pinned), [1], prices) == 75
    assert best_pattern(Room(8, pinned), [1.0], {5: 50.0, 3: 20.0, 2: 15.0})[0] == 75.0


def test_the_prices_are_those_of_the_patterns_that_are_worth_most() -> None:
    """Pods of 6 and of 5 tenths: one of 6 takes a room for itself, two of 5 share one."""
    groups = ((Group(0, 6, ((6, 1),)), 2), (Group(0, 5, ((5, 1),)), 4))
    stock = Stock(((Room(10, ()), 3),), groups, (5, 6), (32,), 1)
    found = share_prices(stock, [], lambda: False)
    assert found is not None
    _, prices = found
    assert {size: round(price, 6) for size, price in prices.items()} == {6: 6.0, 5: 3.0}
    assert least_missing(stock, [], [1], {6: 6, 5: 3}) == 32 - (3 * 6 + 4 * (5 - 3))
    assert least_missing(stock, [], [1], {6: 0, 5: 0}) == 0


def test_rooms_of_several_sizes_are_all_priced_before_any_grows(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A multiplier read after a pattern was added is lost, and the solver complains."""
    groups = ((Group(0, 6, ((6, 1),)), 2), (Group(0, 5, ((5, 1),)), 4), (Group(0, 3, ((3, 1),)), 4))
    rooms = tuple((Room(size, ()), 1) for size in (8, 11, 14))
    stock = Stock(rooms, groups, (3, 5, 6), (44,), 1)
    assert share_prices(stock, [], lambda: False) is not None
    assert capfd.readouterr().err == ""


def test_pods_that_cannot_share_a_device_are_bounded() -> None:
    instance = sharing(3, (2, "700m", 1), (2, "600m", 1))
    tiers = tiers_of(instance)
    assert bounds(instance, tiers, (2600,)) == (0,)
    assert cutting_bounds(instance, tiers, (2600,), FOREVER) == [(0, 600)]


def test_pods_are_left_out_as_a_whole() -> None:
    """One and a half GPUs are lacking: prices alone leave out 1.5 pods of 810."""
    instance = sharing(3, (3, "810m", 1), (3, "470m", 1))
    assert cutting_bounds(instance, tiers_of(instance), (1280,), FOREVER) == [(0, 1280)]


def test_what_the_tiers_above_hold_is_gone_but_for_what_they_may_leave() -> None:
    instance = sharing(3, (2, "700m", 2), (2, "600m", 1), (1, "300m", 1))
    tiers = tiers_of(instance)
    assert cutting_bounds(instance, tiers, (0, 1500), FOREVER) == [(1, 600)]
    assert cutting_bounds(instance, tiers, (700, 1500), FOREVER) == []


def test_a_pod_that_must_stay_keeps_others_from_a_whole_node() -> None:
    """Three nodes of 8 GPUs, a pinned pod of 1 on two of them: one pod of 8 has a place."""
    nodes = [node(name, gpu=8) for name in "abc"]
    stays = [
        job(f"r{name}", pods(cpu=0, gpu=1, on=[name]), priority=2, movable=False) for name in "ab"
    ]
    wants = [job(f"j{i}", pods(cpu=0, gpu=8), priority=1) for i in range(2)]
    instance = question(nodes, [*stays, *wants], objectives=["unplaced"])
    tiers = tiers_of(instance)
    assert bounds(instance, tiers, (0, 8000)) == (0, 0)
    assert cutting_bounds(instance, tiers, (0, 8000), FOREVER) == [(1, 8000)]
    assert cutting_bounds(instance, tiers, (1000, 8000), FOREVER) == []


def test_no_bound_is_above_the_optimum() -> None:
    told = 0
    for seed in some(range(1000)):
        instance = random_instance(seed)
        value, _ = best(instance)
        if value is None:
            continue
        for i, bound in cutting_bounds(instance, tiers_of(instance), value, FOREVER):
            told += 1
            assert bound <= value[i], seed
    assert told >= 10
