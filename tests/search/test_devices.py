"""Bounds from shares of devices that do not go together."""

from __future__ import annotations

from typing import Any

from kantopt.clock import Deadline
from kantopt.cp.cutting import Group, best_pattern, share_prices
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.devices import device_bounds
from kantopt.verify.metrics import bounds
from tests.generate import random_instance
from tests.oracle import best
from tests.verify.world import job, node, pods, question


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


def test_the_prices_are_those_of_the_patterns_that_are_worth_most() -> None:
    """Pods of 6 and of 5 tenths: one of 6 takes a device for itself, two of 5 share one."""
    groups = [Group(0, 2, 6, ((0, 1),)), Group(0, 4, 5, ((1, 1),))]
    prices = share_prices([6, 5], [(10, 3)], groups, [], lambda: False)
    assert [round(price, 6) for price in prices] == [6.0, 3.0]
    assert best_pattern(10, [6, 5], [6.0, 3.5]) == (7.0, {1: 2})


def test_pods_that_cannot_share_a_device_are_bounded() -> None:
    instance = sharing(3, (2, "700m", 1), (2, "600m", 1))
    tiers = tiers_of(instance)
    assert bounds(instance, tiers, (2600,)) == (0,)
    assert device_bounds(instance, tiers, (2600,), Deadline(None)) == [(0, 600)]


def test_what_the_tiers_above_hold_is_gone_but_for_what_they_may_leave() -> None:
    instance = sharing(3, (2, "700m", 2), (2, "600m", 1), (1, "300m", 1))
    tiers = tiers_of(instance)
    assert device_bounds(instance, tiers, (0, 1500), Deadline(None)) == [(1, 600)]
    assert device_bounds(instance, tiers, (700, 1500), Deadline(None)) == []


def test_no_bound_is_above_the_optimum() -> None:
    told = 0
    for seed in range(200):
        instance = random_instance(seed)
        value, _ = best(instance)
        if value is None:
            continue
        for i, bound in device_bounds(instance, tiers_of(instance), value, Deadline(None)):
            told += 1
            assert bound <= value[i], seed
    assert told >= 5
