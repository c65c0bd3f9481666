"""Kueue takes back from others what they have borrowed only up to what a queue owns itself."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.schema.snapshot import Victims
from tests.formats.cluster_objects import Object, thing
from tests.formats.test_kueue_preemption import (
    GPU,
    KUEUE,
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
    assert "no plan evicts for both: 1 (default/v)" in str(asked(*items).notes)
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
    assert said(*items).beyond == (("b",) if told else ())


def said(*items: Object | list[Object]) -> Victims:
    """What is told of the only job that waits."""
    (victims,) = asked(*items).snapshot.victims
    return victims


def cohort(name: str, owns: int = 0, parent: str = "", **limits: int) -> Object:
    quota = {"name": GPU, "nominalQuota": owns, **limits}
    groups = [{"coveredResources": [GPU], "flavors": [{"name": "f", "resources": [quota]}]}]
    return thing(
        KUEUE, "Cohort", name, "", parentName=parent, resourceGroups=groups if owns else []
    )


def tree(left: int, **limits: int) -> list[Object]:
    """Queue a in one cohort has all that it owns, queue b in another more than that."""
    return [
        cohort("root"),
        cohort("left", left, "root", **limits),
        cohort("right", 0, "root"),
        *queue("a", 2, "left", **RECLAIMS),
        *queue("b", 2, "right"),
        runs("mine", "a", 2, 9),
        *(runs(f"other{i}", "b", 2) for i in range(3)),
    ]


def test_that_a_cohort_is_described_lets_no_queue_take_back_beyond_its_own() -> None:
    assert evicted(cohort("all"), two(4), waits("w", "a", 2)) == set()
    assert len(evicted(cohort("all"), two(2), waits("w", "a", 2))) == 1
    twice = [waits("v", "a", 2, 8), waits("w", "a", 2)]
    assert len(evicted(cohort("all"), two(2), *twice)) == 1


@pytest.mark.parametrize(("left", "starts"), [(0, ""), (1, ""), (2, "w"), (4, "vw")])
def test_queues_take_back_what_a_cohort_above_them_and_not_above_the_other_owns(
    left: int, starts: str
) -> None:
    assert placed(MIXED, tree(left), waits("v", "a", 2, 8), waits("w", "a", 2)) == {*starts}


def test_of_queues_below_the_same_cohort_nothing_that_this_owns_is_taken_back() -> None:
    items = [tree(4), queue("c", 0, "left"), runs("near", "c", 2), waits("w", "a", 2)]
    items[0][-1]["spec"]["nodeName"] = ""
    assert set(said(*items).queues) == {"b"}


def test_where_limits_say_what_a_cohort_has_who_may_go_is_told_and_nobody_does() -> None:
    found = said(tree(4, lendingLimit=2), waits("w", "a", 2))
    assert (found.queues, found.beyond) == ({}, ("b",))


def test_where_shares_decide_who_borrows_who_may_go_is_told_and_nobody_does() -> None:
    """What a queue owns itself it takes back all the same."""

    def found(used: int) -> Victims:
        cluster = two(used)
        cluster[0]["status"] = {"fairSharing": {"weightedShare": 0}}
        return said(cluster, waits("w", "a", 2))

    assert (set(found(2).queues), found(2).beyond) == ({"b"}, ())
    assert (set(found(4).queues), found(4).beyond) == (set(), ("b",))
