"""Kueue takes back from others what they have borrowed only up to what a queue owns itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import Object
from tests.formats.test_kueue_preemption import (
    LOWER,
    MIXED,
    asked,
    evicted,
    placed,
    queue,
    runs,
    waits,
)

RECLAIMS = {"reclaimWithinCohort": LOWER}


def two(used: int, **preemption: Any) -> list[Object]:
    """Queue a owns 4, some of it used by a job of priority 9; queue b has borrowed the rest."""
    mine = [runs("mine", "a", used, 9)] if used else []
    left = [runs(f"other{i}", "b", 2) for i in range((8 - used) // 2)]
    return [*queue("a", 4, **RECLAIMS, **preemption), *queue("b", 0), *queue("c", 4), *mine, *left]


def test_a_queue_that_uses_what_it_owns_takes_back_nothing() -> None:
    assert evicted(two(4), waits("w", "a", 2)) == set()
    assert len(evicted(two(2), waits("w", "a", 2))) == 1
    assert evicted(two(2), waits("w", "a", 4)) == set()


def test_one_that_may_borrow_then_takes_back_all_the_same() -> None:
    lower = {"borrowWithinCohort": {"policy": LOWER}}
    assert len(evicted(two(4, **lower), waits("w", "a", 2))) == 1


def test_what_waits_and_takes_back_counts_together() -> None:
    items = [two(0), waits("v", "a", 4, 8), waits("w", "a", 4)]
    assert len(evicted(*items)) == 2
    assert placed(MIXED, *items) == {"w"}
    assert "evict nobody beside these: 1 (default/v)" in str(asked(*items).notes)
    for name in ("v", "w"):
        assert placed(MIXED.model_copy(update={"required": (name,)}), *items) == {name}
    small = [two(0), waits("v", "a", 2, 8), waits("w", "a", 2)]
    assert placed(MIXED, *small) == {"v", "w"}


@pytest.mark.parametrize(("priority", "told"), [(0, True), (9, False)])
def test_what_it_might_take_back_beside_jobs_of_its_own_is_told(priority: int, told: bool) -> None:
    """Which of its own go as well is left to Kueue, so nobody of another queue does here."""
    cluster = two(2, withinClusterQueue=LOWER)
    cluster[6]["spec"]["priority"] = priority
    items = [cluster, waits("w", "a", 4)]
    assert evicted(*items) == set()
    assert ("only while it evicts jobs of their own" in str(asked(*items).notes)) is told
