"""The tiers that the exact search proves are those that brute force finds."""

from __future__ import annotations

import pytest

from tests.campaign import some
from tests.generate import random_instance
from tests.solved import agrees

SEEDS = 640
BLOCKS = 8


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_search_proves_what_brute_force_finds(block: int) -> None:
    for seed in range(block, SEEDS, BLOCKS):
        instance = random_instance(seed)
        agrees(instance, f"seed {seed}")


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_search_proves_the_same_where_constraints_wait_until_they_are_broken(block: int) -> None:
    for seed in range(block, SEEDS, BLOCKS):
        agrees(random_instance(seed), f"seed {seed}", lazy=True)
