"""Loads of a placement and of its copies: each is its own, whichever changes."""

from __future__ import annotations

import random

from kantopt.verify.step import Loads
from tests.generate import random_instance
from tests.placements import random_placement


def rows(loads: Loads) -> tuple[list[list[int]], list[list[list[int]]], list[list[int]]]:
    node = [row[:] for row in loads.node]
    return node, [[d[:] for d in row] for row in loads.device], [row[:] for row in loads.queue]


def test_copies_and_what_they_are_copied_from_change_apart() -> None:
    changed = 0
    for seed in range(60):
        instance, rng = random_instance(seed), random.Random(seed)
        first = Loads.of(instance, instance.current)
        twin = first.copy()
        places = [(s, spot) for s, spots in enumerate(instance.current.podsets) for spot in spots]
        for _ in range(6):
            if not places:
                break
            one, other = rng.choice([(first, twin), (twin, first)])
            before = rows(other)
            one.add(*rng.choice(places), rng.choice((-1, 1)))
            assert rows(other) == before
            changed += 1
    assert changed > 100


def test_loads_after_a_change_are_those_counted_from_the_beginning() -> None:
    for seed in range(60):
        instance, rng = random_instance(seed), random.Random(seed)
        before, after = (random_placement(rng, instance) for _ in range(2))
        near = Loads.of(instance, before).between(before, after)
        whole = Loads(instance)
        for s, spot, pods in after.items():
            whole.add(s, spot, pods)
        assert rows(near) == rows(whole), f"seed {seed}"
