"""Whole pods that are left out: against trying every way to fill rooms."""

from __future__ import annotations

import random
from collections import Counter

from kantopt.verify.bounds.cover import least_left_out
from kantopt.verify.bounds.stock import Group, Pinned, Room, Stock, least_missing


def test_a_part_of_a_pod_covers_nothing() -> None:
    """Two rooms and five pods of half a room: one is left out, and none of three quarters helps."""
    groups = ((Group(0, 5, ((5, 1),)), 5), (Group(0, 8, ((8, 1),)), 1))
    stock = Stock(((Room(10, ()), 2),), groups, (5, 8), (33,), 1)
    assert (
        least_left_out(stock, [], {5: 1, 8: 2}) == 13
    )  # three halves to cover: 5 + 8 or 5 + 5 + 5


def test_prices_that_all_rooms_can_pay_say_nothing() -> None:
    stock = Stock(((Room(10, ()), 3),), ((Group(0, 5, ((5, 1),)), 5),), (5,), (25,), 1)
    assert least_left_out(stock, [], {5: 1}) == 0


def test_prices_too_large_to_be_worked_out_say_nothing() -> None:
    stock = Stock(((Room(10, ()), 1),), ((Group(0, 5, ((5, 1),)), 5),), (5,), (25,), 1)
    assert least_left_out(stock, [], {5: 2**40}) == 0


def test_what_a_tier_above_may_leave_out_covers_first() -> None:
    groups = ((Group(0, 7, ((5, 1),)), 2), (Group(1, 5, ((5, 1),)), 2))
    stock = Stock(((Room(10, ()), 1),), groups, (5,), (14, 10), 1)
    assert least_left_out(stock, [6], {5: 1}) == 10
    assert least_left_out(stock, [7], {5: 1}) == 5
    assert least_left_out(stock, [14], {5: 1}) == 0


def test_never_more_than_the_best_way_to_fill_the_rooms_leaves_out() -> None:
    told = 0
    for seed in range(400):
        rng = random.Random(seed)
        stock, held = _drawn(rng)
        parts = rng.randrange(1, 5)
        prices = {size: parts * size // 7 for size in stock.sizes}
        best = _least(stock, held)
        found = least_left_out(stock, held, prices)
        told += found > 0
        assert best is None or found <= best, seed
        assert best is None or least_missing(stock, held, [0, 1], prices) <= best, seed
    assert told >= 150


def _drawn(rng: random.Random) -> tuple[Stock, list[int]]:
    """Draw two tiers of pods, some of which stay in one of two rooms."""
    kinds = [(t, rng.randrange(1, 9), rng.randrange(2, 8)) for t in (0, 1, 1)]
    groups = tuple((Group(t, w, ((z, 1),)), rng.randrange(1, 4)) for t, w, z in kinds)
    rooms = Counter[Room]()
    for _ in range(2):
        pinned = tuple(sorted(Pinned(*rng.choice(kinds)) for _ in range(rng.randrange(2))))
        rooms[Room(rng.randrange(7, 10), pinned)] += 1
    wanted = [0, 0]
    for group, count in groups:
        wanted[group.tier] += group.weight * count
    for room, count in rooms.items():
        for pod in room.pinned:
            wanted[pod.tier] += pod.weight * count
    sizes = tuple(sorted({z for _, _, z in kinds}))
    stock = Stock(tuple(sorted(rooms.items())), groups, sizes, (wanted[0], wanted[1]), 1)
    return stock, [rng.randrange(wanted[0])]


def _least(stock: Stock, held: list[int]) -> int | None:
    """Try every way: each pod is left out or in a room, one that stays only in its own."""
    rooms = [room for room, count in stock.rooms for _ in range(count)]
    pods = [
        (group.tier, group.weight, group.shares[0][0], None)
        for group, count in stock.groups
        for _ in range(count)
    ]
    pods += [
        (pod.tier, pod.weight, pod.size, k) for k, room in enumerate(rooms) for pod in room.pinned
    ]
    # What rooms hold and the first tier misses, and least that the second one misses with that.
    states = {((0,) * len(rooms), 0): 0}
    for tier, weight, size, home in pods:
        longer: dict[tuple[tuple[int, ...], int], int] = {}
        for (load, above), missing in states.items():
            out = load, above + (0 if tier else weight)
            ways = [(out, missing + (weight if tier else 0))]
            for k, room in enumerate(rooms):
                if home in (None, k) and load[k] + size <= room.size:
                    fuller = (*load[:k], load[k] + size, *load[k + 1 :])
                    ways.append(((fuller, above), missing))
            for state, lack in ways:
                longer[state] = min(lack, longer.get(state, lack))
        states = longer
    return min((lack for (_, above), lack in states.items() if above <= held[0]), default=None)
