"""What differs from a last plan: counted by hand, bounded by arithmetic, refused where misnamed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bounds, measure
from tests.oracle import best
from tests.solved import solved
from tests.verify.world import Document, job, node, placed, pods, question, values

NODES = [node(name, cpu=4) for name in "abc"]
JOBS = [
    job("runs", pods(count=3, on=["a", "a", "b"])),
    job("other", pods(count=1, on=["c"])),
    job("waits", pods(count=2, minCount=0)),
]


def wanted(name: str, state: str, **nodes: int) -> Document:
    return {"job": f"default/{name}", "podSet": "main", "state": state, "nodes": nodes}


def asked(*wants: Document, first: tuple[Any, ...] = (), **more: Any) -> Instance:
    objectives = [*first, "changes_to_plan"]
    return question(NODES, JOBS, objectives=objectives, last_plan=wants, **more)


def test_pods_count_that_are_not_where_the_last_plan_wants_them() -> None:
    told = asked(wanted("runs", "running", a=1, b=1, c=1), wanted("waits", "pending", a=2))
    assert values(told) == {"changes_to_plan": 3}, "one has not moved, two are not bound"
    assert values(told, runs=["a", "b", "c"], waits=["a", "a"]) == {"changes_to_plan": 0}
    assert values(told, runs=["a", "b", "c"], waits=["a", "b"]) == {"changes_to_plan": 1}
    assert values(told, runs=["b", "b", "c"], waits=["a", "a"]) == {"changes_to_plan": 1}


def test_nowhere_is_a_place_of_pods_that_run() -> None:
    told = asked(wanted("runs", "running", a=2))
    assert values(told) == {"changes_to_plan": 1}, "one was to be evicted"
    assert values(told, runs=["a", "a"]) == {"changes_to_plan": 0}
    assert values(told, runs=["a"]) == {"changes_to_plan": 1}
    assert values(told, runs=["a", "c"]) == {"changes_to_plan": 1}, "one is elsewhere and not gone"


def test_pods_that_the_last_plan_leaves_alone_are_to_stay_and_those_that_wait_are_free() -> None:
    told = asked(wanted("runs", "running", a=1, b=2))
    assert values(told, runs=["a", "b", "b"], waits=["c", "c"]) == {"changes_to_plan": 0}
    assert values(told, runs=["a", "b", "b"], other=["b"]) == {"changes_to_plan": 1}
    assert values(told, runs=["a", "b", "b"], other=[]) == {"changes_to_plan": 1}


def test_without_a_last_plan_there_is_nothing_to_count() -> None:
    assert tiers_of(asked()) == ()
    assert tiers_of(question(NODES, JOBS, objectives=["moves"], last_plan=[])) != ()
    kept = question(NODES, JOBS, objectives=["moves"], last_plan=[wanted("waits", "pending", a=1)])
    assert [podset.wanted for podset in kept.podsets] == [None] * 3, "the model does not ask"


def test_as_many_differ_as_may_not_move() -> None:
    told = asked(wanted("runs", "running", c=3), limits={"moves": 1, "evictions": 0})
    assert bounds(told, tiers_of(told), values_of(told)) == (2,)
    assert best(told)[0] == (2,)


def values_of(told: Instance) -> tuple[int, ...]:
    return measure(told, told.current, tiers_of(told))


def test_cp_sat_holds_to_the_last_plan_where_nothing_else_is_lost() -> None:
    told = asked(
        wanted("runs", "running", a=1, b=1, c=1),
        wanted("waits", "pending", b=1),
        first=("unplaced",),
    )
    found = solved(told, tiers_of(told))
    expected, _ = best(told)
    assert expected is not None
    assert expected[-1] == 0
    assert found.placement is not None
    assert measure(told, found.placement, tiers_of(told)) == expected


@pytest.mark.parametrize(
    ("wants", "text"),
    [
        ([wanted("nobody", "pending", a=1)], 'lastPlan[0].podSet: found "default/nobody/main"'),
        ([wanted("waits", "running", a=1)], "expected a pod set with running pods"),
        ([wanted("waits", "pending", a=3)], "lastPlan[0].nodes: found 3 pods, expected at most 2"),
        ([wanted("waits", "pending", d=1)], "expected the name of a node"),
        ([wanted("waits", "pending", a=1)] * 2, "again, expected each pod set once"),
    ],
)
def test_a_last_plan_of_another_cluster_is_refused(wants: list[Document], text: str) -> None:
    with pytest.raises(BadDataError) as error:
        asked(*wants)
    assert text in str(error.value)


def test_parts_of_a_question_count_what_is_wanted_outside() -> None:
    told = asked(wanted("waits", "pending", a=1, b=1))
    podsets = [replace(p, wanted={-1: 1, 0: 1}) if p.wanted else p for p in told.podsets]
    part = replace(told, podsets=tuple(podsets))
    assert measure(part, placed(told, waits=["a"]), tiers_of(part)) == (1,)
    assert best(part)[0] == (1,)
