"""For whom Kueue has quota it evicts nobody: then kube-scheduler does, by priority."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import Object, thing
from tests.formats.test_kueue_preemption import (
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
from tests.formats.test_kueue_priorities import CLASS
from tests.formats.test_kueue_reclaims import said

PREEMPTION = [{}, {"withinClusterQueue": LOWER}]


def flavor(**spec: Any) -> Object:
    return thing(KUEUE, "ResourceFlavor", "f", "", **spec)


def full(owns: int = 8, cohort: str = "", to: str = "b", **preemption: str) -> list[Object]:
    """Queue a has 4 GPUs left of what it owns, and the node none: another has it."""
    queues = [*queue("a", owns, cohort, **preemption), *queue("b", 4, cohort)]
    return [*queues, runs("mine", "a", 4, 99), runs("other", to, 4)]


def limits(cluster: list[Object]) -> Object:
    """What queue a has of GPUs."""
    found: Object = cluster[0]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    return found


@pytest.mark.parametrize("preemption", PREEMPTION, ids=str)
@pytest.mark.parametrize("cohort", ["", "all"])
@pytest.mark.parametrize("to", ["b", ""])
def test_whom_kueue_lets_go_evicts_anybody_who_is_less_important(
    preemption: dict[str, str], cohort: str, to: str
) -> None:
    cluster = [*full(cohort=cohort, to=to, **preemption), flavor()]
    assert evicted(*cluster, waits("w", "a", 4)) == {"other"}
    assert evicted(*cluster, waits("w", "a", 4, 0)) == set()


def test_who_lacks_quota_does_not() -> None:
    items = [*full(6), flavor(), waits("w", "a", 4)]
    assert (evicted(*items), said(*items).beyond) == (set(), ())
    items = [*full(6, "all"), *queue("c", 8, "all"), flavor(), waits("w", "a", 4)]
    limits(items)["borrowingLimit"] = 0
    assert (evicted(*items), said(*items).beyond) == (set(), ())


@pytest.mark.parametrize("preemption", PREEMPTION, ids=str)
def test_nor_does_for_whom_kueue_finds_the_places(preemption: dict[str, str]) -> None:
    items = [*full(**preemption), flavor(topologyName="t"), waits("w", "a", 4)]
    assert (evicted(*items), said(*items).beyond) == (set(), ())


@pytest.mark.parametrize("preemption", PREEMPTION, ids=str)
def test_where_it_is_not_known_who_may_go_is_told(preemption: dict[str, str]) -> None:
    """The flavor, or whether there are limits to what is lent."""
    items = [*full(**preemption), waits("w", "a", 4)]
    assert (evicted(*items), said(*items).beyond) == (set(), ("b",))
    limited = [*full(cohort="all", **preemption), flavor(), waits("w", "a", 4)]
    limits(limited)["lendingLimit"] = 1
    assert (evicted(*limited), said(*limited).beyond) == (set(), ("b",))


def test_of_two_that_have_quota_alone_neither_takes_what_the_other_would() -> None:
    """Which of them Kueue lets go is open, and nobody goes for the quota of the second."""
    two = [waits("v", "a", 4), waits("w", "a", 4)]
    found = asked(*full(), flavor(), *two).snapshot.victims
    assert [(dict(item.queues), item.beyond) for item in found] == [({}, ("b",))] * 2
    assert evicted(*full(12), flavor(), *two) == {"other"}


def test_kube_scheduler_asks_the_policy_of_the_class() -> None:
    wanted = waits("w", "a", 4)
    wanted["spec"]["podSets"][0]["template"]["spec"]["priorityClassName"] = "some"
    items = [*full(withinClusterQueue=LOWER), flavor(), wanted]
    assert placed(MIXED, *items, CLASS) == {"w"}
    assert placed(MIXED, *items, CLASS | {"preemptionPolicy": "Never"}) == set()
