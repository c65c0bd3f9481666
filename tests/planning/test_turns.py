"""Of jobs that take turns to evict by queues only those do that need to, and may."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.planning.unaided import Unaided, unaided
from tests.formats.cluster_objects import Object, node, pod, read
from tests.formats.test_kueue_preemption import (
    GPU,
    LOWER,
    MINE,
    MIXED,
    OTHER,
    asked,
    evicted,
    placed,
    queue,
    runs,
    waits,
)
from tests.formats.test_reclaims import SYSTEMS, of
from tests.formats.test_reclaims import queue as queue_of


def own(name: str, nominal: int) -> list[Object]:
    """A queue of no cohort, of which less important jobs go for more important ones."""
    return queue(name, nominal, "", withinClusterQueue=LOWER)


FULL = [*own("a", 4), *own("b", 4), MINE, OTHER]
W = waits("w", "a", 4)
COMES_FIRST = "no plan evicts for both"


def plain(name: str, gpus: int = 0, **spec: Any) -> Object:
    """A pod for kube-scheduler, which evicts of both queues."""
    asks = {GPU: str(gpus)} if gpus else {"cpu": "1"}
    return pod(name, owner=f"Job/{name}", requests=asks, **{"priority": 5, **spec})


NOWHERE = {"nodeSelector": {"no": "such"}}


@pytest.mark.parametrize(
    ("other", "starts"),
    [
        (plain("p"), {"p"}),
        (plain("p", **NOWHERE), set()),
        (plain("p", 4, **NOWHERE), set()),
        (plain("p", 16), set()),
        (plain("p", priority=20), {"p"}),
        (waits("p", "b", 16, 20), set()),
    ],
)
def test_who_needs_or_can_use_no_victims_takes_nobody_s_turn(
    other: Object, starts: set[str]
) -> None:
    items = [*FULL, W, other]
    assert evicted(*items) == {"mine"}
    assert placed(MIXED, *items) == {"w", *starts}
    assert COMES_FIRST not in str(asked(*items).notes)
    required = MIXED.model_copy(update={"required": ("p",)})
    assert placed(required, *items) == {"w", *starts}


@pytest.mark.parametrize("system", SYSTEMS)
def test_nor_does_it_where_others_evict_by_queues(system: str) -> None:
    queues = [queue_of(system, name, 4) for name in ("a", "b")]
    running = [*of(system, "r", "a", 4, 1, on="a"), *of(system, "s", "b", 4, 1, on="a")]
    items = [*queues, *running, *of(system, "w", "a", 4, 9), plain("p")]
    assert evicted(*items) == {"g-r"}
    assert placed(MIXED, *items) == {"g-w", "p"}


def test_who_starts_in_free_room_keeps_nobody_else_from_evicting() -> None:
    other = runs("other", "b", 2)
    items = [*FULL[:-1], other, plain("p", 2), waits("u", "b", 2, 8)]
    assert placed(MIXED, *items) == {"p", "u"}
    assert evicted(*items) == {"other"}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("mine", ["b", "c"], ids=["a queue that has victims", "one without"])
def test_nor_where_its_queue_lets_it_evict_nobody_there(system: str, mine: str) -> None:
    queues = [queue_of(system, name, 4) for name in ("a", "b", "c")]
    running = [*of(system, "r", "a", 6, 1, on="a"), *of(system, "s", "b", 0, 1, on="a")]
    items = [*queues, *running, *of(system, "w", mine, 2, 9), plain("p", 2)]
    assert placed(MIXED, *items) == {"g-w", "p"}
    assert evicted(*items) == {"g-r"}


def test_where_there_is_room_for_one_of_two_the_other_has_its_turn() -> None:
    some = [*FULL[:-1], runs("other", "b", 3)]
    one = [plain("p", 1), *some, W]
    assert placed(MIXED, *one) == {"w", "p"}
    assert evicted(*one) == {"mine"}
    two = [*one, plain("q", 1)]
    assert placed(MIXED, *two) == {"p", "q"}
    assert f"{COMES_FIRST}: 1 (default/w)" in str(asked(*two).notes)


def test_who_has_room_and_no_quota_for_it_does_not_start() -> None:
    """Its queue is full, so that it evicts as well, and comes first."""
    queues = [each for name, n in (("a", 4), ("b", 2)) for each in own(name, n)]
    items = [queues, MINE, runs("other", "b", 2), waits("v", "b", 2, 20), W]
    assert placed(MIXED, *items) == {"v"}
    assert evicted(*items) == {"other"}


def test_who_starts_takes_of_the_quota_that_others_would_take_back_by() -> None:
    """Queue a owns 4, and a more important job of it starts in the room that is left."""
    queues = [*queue("a", 4, reclaimWithinCohort=LOWER), *queue("b", 0), *queue("c", 8)]
    items = [queues, runs("x", "b", 2), runs("y", "b", 2), waits("v", "a", 4, 20)]
    assert evicted(*items) == set()
    assert placed(MIXED, *items, W) == {"v"}
    assert evicted(*items, W) == set()


def test_of_pods_that_keep_apart_one_is_taken_to_have_room() -> None:
    host = "kubernetes.io/hostname"
    apart = {"labelSelector": {"matchLabels": {"app": "p"}}, "topologyKey": host}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    alike = [plain(name, labels={"app": "p"}, affinity=affinity) for name in ("p", "q")]
    found = read(node("a", {host: "a"}), *alike, plain("r", 9), plain("s", 8))
    assert unaided(found.snapshot, found.pending.jobs, MIXED) == Unaided(
        frozenset({"default/p", "default/s"}), frozenset({"default/r"})
    )
