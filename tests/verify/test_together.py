"""Jobs that go together: a move of one pod restarts all, and the judge counts and orders it so."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.difference import difference
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.verify.test_replay import act, at_once, in_a_row, said
from tests.verify.world import Document, broken, job, node, placed, pods, put, question

NODES = [node(name, rack=f"x/{name}") for name in "abc"]
METRICS = ["moves", "disruption_cost"]


def unit(*more_jobs: Document, nodes: list[Document] | None = None, **fields: Any) -> Instance:
    """Two pods that go together, on two nodes of three."""
    rules, limits = fields.pop("rules", {}), fields.pop("limits", {})
    budgets = fields.pop("budgets", ())
    own = job("r", pods(count=2, cpu=3, on=["a", "b"]), **{"disruptionMode": "all", **fields})
    return question(
        nodes or NODES,
        [own, *more_jobs],
        objectives=METRICS,
        rules=rules,
        limits=limits,
        podDisruptionBudgets=list(budgets),
    )


def budget(allowed: int) -> Document:
    selector = {"matchLabels": {"job": "r"}}
    return {"name": "b", "selector": selector, "disruptionsAllowed": allowed}


def values(instance: Instance, *on: str) -> tuple[int, ...]:
    return measure(instance, placed(instance, r=on), tiers_of(instance))


def test_a_move_of_one_pod_counts_as_a_move_of_all() -> None:
    assert values(unit(), "c", "b") == (2, 2)
    assert values(unit(), "a", "b") == (0, 0)
    assert values(unit(disruptionMode="single"), "c", "b") == (1, 1)
    assert values(unit(moveMode="live"), "c", "b") == (1, 1)
    assert values(unit(rules={"gang_victims": "off"}), "c", "b") == (1, 1)


def test_pods_of_all_roles_go_together() -> None:
    roles = [pods("x", on=["a"]), pods("y", count=2, on=["b", "b"])]
    instance = question(NODES, [job("r", *roles, disruptionMode="all")], objectives=METRICS)
    moved = put(instance, {"r/x": ["c"]})
    assert measure(instance, moved, tiers_of(instance)) == (3, 3)
    assert {(c.podset, c.source == c.target) for c in difference(instance, moved).moves} == {
        (0, False),
        (1, True),
    }


def test_who_ends_where_it_was_must_be_admitted_there_anew() -> None:
    cordoned = [NODES[0], node("b", rack="x/b", unschedulable=True), NODES[2]]
    assert broken(unit(nodes=cordoned), Rule.ELIGIBILITY, r=["c", "b"]) != []
    assert broken(unit(nodes=cordoned), Rule.ELIGIBILITY, r=["a", "b"]) == []
    overfull = [NODES[0], node("b", cpu=2, rack="x/b"), NODES[2]]
    assert broken(unit(nodes=overfull), Rule.CAPACITY, r=["c", "b"]) != []


def test_one_pod_that_may_not_move_keeps_all() -> None:
    roles = [pods("x", on=["a"]), pods("y", on=["b"], movable=False)]
    instance = question(NODES, [job("r", *roles, disruptionMode="all")])
    found = check(instance, put(instance, {"r/x": ["c"]}), [Rule.PINNED])
    assert [v.message for v in found] == ["1 of 0 pods moved"]
    assert freedom_of(instance).moves == (0, 0)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"limits": {"moves": 1}}, Rule.LIMITS),
        ({"limits": {"movesPerJob": 1}}, Rule.LIMITS),
        ({"limits": {"movesPerNamespace": 1}}, Rule.LIMITS),
        ({"limits": {"movesPerWave": 1}}, Rule.LIMITS),
        ({"maxMoves": 1}, Rule.LIMITS),
        ({"maxMovesAtOnce": 1}, Rule.LIMITS),
        ({"budgets": [budget(1)]}, Rule.DISRUPTION),
    ],
    ids=str,
)
def test_what_bears_one_pod_bears_no_two(fields: dict[str, Any], rule: Rule) -> None:
    assert broken(unit(**fields), rule, r=["c", "b"]) != []
    assert freedom_of(unit(**fields)).moves == (0,)
    single = unit(**fields, disruptionMode="single")
    assert broken(single, rule, r=["c", "b"]) == []
    assert freedom_of(single).moves != (0,)


def test_what_bears_all_of_them_lets_them_go() -> None:
    bearing = unit(limits={"moves": 2, "movesPerWave": 2}, maxMoves=2, budgets=[budget(2)])
    assert check(bearing, placed(bearing, r=["c", "b"])) == []
    assert (freedom_of(bearing).moves, freedom_of(bearing).steps) == ((2,), (0,))


def test_all_restart_in_one_wave() -> None:
    instance = unit()
    moved, stays = act(instance, "r", "a", "c"), act(instance, "r", "b", "b")
    assert said(instance, at_once([moved, stays])) == []
    assert "gang_victims: wave 0: job default/r: 1 of 2 pods restart together" in said(
        instance, at_once([moved])
    )
    assert "gang_victims: wave 0: job default/r: 1 of 2 pods restart together" in said(
        instance, in_a_row([moved], [stays])
    )


def test_a_restart_that_moves_nobody_is_no_part_of_a_plan() -> None:
    instance = unit()
    stay = [act(instance, "r", name, name) for name in "ab"]
    assert said(instance, at_once(stay)) == [
        "actions: job default/r pod set main: 2 of 0 pods move that need to"
    ]


def test_their_room_may_be_taken_by_each_other_in_the_wave() -> None:
    instance = unit(nodes=NODES[:2])
    full = question(
        [node("a"), node("b", cpu=8)],
        [
            job(
                "r",
                pods("x", cpu=4, on=["a"]),
                pods("y", cpu=4, count=2, on=["b", "b"]),
                disruptionMode="all",
            )
        ],
    )
    swap = [act(full, "r/x", "a", "b"), act(full, "r/y", "b", "a"), act(full, "r/y", "b", "b")]
    assert said(full, at_once(swap)) == []
    assert difference(instance, instance.current).moves == ()
