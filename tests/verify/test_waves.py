"""What waves can add up to, against all states written out."""

from __future__ import annotations

import random
import sys
from itertools import product
from types import FrameType
from typing import Any

import pytest

from kantopt.problem.actions import Wave
from kantopt.verify.waves.most import Share, Sum
from kantopt.verify.waves.order import Order


def random_order(rng: random.Random, count: int) -> Order:
    waves = []
    for i in range(count):
        after = tuple(k for k in range(i) if rng.random() < rng.choice((0.1, 0.4)))
        waves.append(Wave(i, after, ()))
    return Order(waves)


def states(order: Order) -> list[tuple[int, ...]]:
    """Stage of each wave: not begun, begun, restarts back, done."""
    return [
        stages
        for stages in product(range(4), repeat=len(order.waves))
        if all(
            not stage or all(stages[q] == 3 for q in order.waves[p].after)
            for p, stage in enumerate(stages)
        )
    ]


def value(base: int, shares: dict[int, Share], stages: tuple[int, ...]) -> int:
    return base + sum(sum(shares[p][: stages[p]]) for p in shares)


def test_the_most_is_that_of_all_states() -> None:
    apart = 0
    for seed in range(150):
        rng = random.Random(seed)
        order = random_order(rng, rng.randint(1, 5))
        listed = [p for p in range(len(order.waves)) if rng.random() < 0.8]
        shares = {
            p: Share(rng.randint(0, 4), rng.randint(-3, 3), rng.randint(-5, 3)) for p in listed
        }
        total = Sum(order, shares, 7)
        every = states(order)
        assert total.most() == max(value(7, shares, s) for s in every)
        apart += not order.is_chain(listed)
        for p in listed:
            begun = [
                value(7, shares, s) - sum(shares[p][: s[p]])
                for s in every
                if s[p] and not any(s[q] and order.precedes(p, q) for q in range(len(s)))
            ]
            own = shares[p].start
            assert total.most_while(p, -1, own) == max(begun) + own
            assert total.most_while(p, 10**6, own) >= max(begun) + own
    assert apart > 50


def test_waves_are_apart_if_none_of_one_part_waits_for_the_other() -> None:
    waves = [
        Wave(1, (), ()),
        Wave(2, (), ()),
        Wave(3, (1,), ()),
        Wave(4, (), ()),
        Wave(5, (4,), ()),
    ]
    order = Order(waves)
    assert list(order.apart(0b11111)) == [0b00101, 0b00010, 0b11000]
    assert list(order.apart(0b01100)) == [0b00100, 0b01000]


def exchange(count: int, after: tuple[int, ...]) -> int:
    """Waves that each bring a pod before another leaves: lines run to judge them all."""
    waves = [Wave(i, after if i >= len(after) else (), ()) for i in range(count)]
    total = Sum(Order(waves), {p: Share(start=1, done=-1) for p in range(count)}, count)
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace if "kantopt" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = [total.most_while(p, count, 1) for p in range(count)]
    finally:
        sys.settrace(before)
    first = len(after)
    assert found[first:] == [2 * count - first] * (count - first)
    return lines


@pytest.mark.parametrize("after", [(), (0,), (0, 1, 2)])
def test_waves_side_by_side_cost_about_as_much_each_however_many_they_are(
    after: tuple[int, ...],
) -> None:
    few, many = exchange(60, after), exchange(240, after)
    assert many < 5 * few
