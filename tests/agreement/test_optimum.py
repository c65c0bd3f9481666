"""The tiers that the exact search proves are those that brute force finds."""

from __future__ import annotations

import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance
from tests.oracle import best
from tests.solved import solved

SEEDS = 640
BLOCKS = 8


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_search_proves_what_brute_force_finds(block: int) -> None:
    for seed in range(block, SEEDS, BLOCKS):
        instance = random_instance(seed)
        tiers = tiers_of(instance)
        expected, _ = best(instance)
        outcome = solved(instance, tiers)
        assert outcome.infeasible == (expected is None), f"seed {seed}"
        if expected is None:
            continue
        assert outcome.placement is not None
        assert not check(instance, outcome.placement), f"seed {seed}"
        assert measure(instance, outcome.placement, tiers) == expected, f"seed {seed}"
        assert outcome.bounds == expected, f"seed {seed}"
