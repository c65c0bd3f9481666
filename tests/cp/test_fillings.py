"""How rooms are cut, each as a whole."""

from __future__ import annotations

import random
from collections import Counter

from kantopt.cp.masters.fillings import fillings
from kantopt.search.cutting import PARTS
from kantopt.verify.bounds.cover import least_left_out
from kantopt.verify.bounds.stock import Group, Room, Stock


def drawn(seed: int) -> Stock:
    """Rooms of one or two sizes, and pods of some groups in one or two tiers."""
    rng = random.Random(seed)
    rooms = {rng.randrange(10, 20): rng.randrange(1, 5) for _ in range(rng.randrange(1, 3))}
    groups = {
        Group(rng.randrange(2), rng.randrange(1, 9), ((rng.randrange(2, 10), 1),)): rng.randrange(
            1, 9
        )
        for _ in range(rng.randrange(2, 6))
    }
    wanted = [sum(g.weight * n for g, n in groups.items() if g.tier == t) for t in (0, 1)]
    return Stock(
        tuple((Room(size, ()), count) for size, count in sorted(rooms.items())),
        tuple(sorted(groups.items())),
        tuple(sorted({group.shares[0][0] for group in groups})),
        (wanted[0], wanted[1]),
        1,
    )


def test_pods_have_the_shares_that_rooms_are_cut_into() -> None:
    told = 0
    for seed in range(60):
        stock = drawn(seed)
        held = stock.wanted[0] // 2
        found = fillings(stock, [held], 1.0, lambda: False)
        if found is None:
            continue
        told += 1
        used: Counter[int] = Counter()
        shares: Counter[int] = Counter()
        for k, cut, rooms in found.rooms:
            used[k] += rooms
            assert sum(size * times for size, times in cut) <= stock.rooms[k][0].size
            for size, times in cut:
                shares[size] += times * rooms
        assert all(used[k] <= count for k, (_, count) in enumerate(stock.rooms))
        missing = [0, 0]
        for (group, count), placed in zip(stock.groups, found.placed, strict=True):
            assert placed <= count
            shares[group.shares[0][0]] -= placed
            missing[group.tier] += group.weight * (count - placed)
        assert min(shares.values(), default=0) >= 0
        assert missing[0] <= held
        for parts in range(1, PARTS):  # no filling is better than a bound
            prices = {size: parts * size // stock.rooms[-1][0].size for size in stock.sizes}
            assert least_left_out(stock, [held], prices) <= missing[1]
    assert told >= 30


def test_pods_left_out_as_a_whole_are_the_lightest_that_will_do() -> None:
    groups = ((Group(0, 47, ((47, 1),)), 3), (Group(0, 81, ((81, 1),)), 3))
    stock = Stock(((Room(100, ()), 3),), groups, (47, 81), (384,), 1)
    found = fillings(stock, [], 1.0, lambda: False)
    assert found is not None
    assert found.placed == (2, 2)
    assert sorted(found.rooms) == [(0, ((47, 2),), 1), (0, ((81, 1),), 2)]
