"""Which anti-affinity is a matter of room: sets of pods of which a node holds one."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem import apart
from kantopt.problem.apart import sets_apart
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from tests.verify.world import HOST, job, node, pods, question

RULES = frozenset(Rule)


def away(label: str, value: str, key: str = HOST) -> list[dict[str, Any]]:
    return [{"topologyKey": key, "labelSelector": {"matchLabels": {label: value}}}]


def ask(*jobs: Any) -> Instance:
    nodes = [node(name, rack=rack) for name, rack in (("a", "r1"), ("b", "r1"), ("c", "r2"))]
    return question(nodes, list(jobs))


def service(name: str, on: list[str], team: str = "t", **more: Any) -> Any:
    return job(name, pods(count=len(on) or 1, on=on, labels={"team": team}, **more))


def test_replicas_that_keep_apart_on_nodes_are_a_set() -> None:
    instance = ask(service("s", ["a", "b"], podAntiAffinity=away("job", "s")))
    (term,) = sets_apart(instance, RULES)
    assert term.others == (0,)
    assert freedom_of(instance).tied == {0}


def test_services_of_which_all_keep_away_from_all_are_one_set() -> None:
    both = away("team", "t")
    instance = ask(
        service("s", ["a"], podAntiAffinity=both), service("t", [], podAntiAffinity=both)
    )
    assert {term.others for term in sets_apart(instance, RULES)} == {(0, 1)}


@pytest.mark.parametrize(
    ("on", "term"),
    [
        (["a", "b"], away("team", "t")),  # the other one does not keep away
        (["a", "a"], away("job", "s")),  # two are on a node now
        (["a", "c"], away("job", "s", "block")),  # a domain has several nodes
    ],
    ids=["one-sided", "standing", "racks"],
)
def test_what_is_more_than_that_is_none(on: list[str], term: list[dict[str, Any]]) -> None:
    instance = ask(service("s", on, podAntiAffinity=term), service("t", ["c"]))
    assert sets_apart(instance, RULES) == frozenset()
    assert 0 in freedom_of(instance).tied


def test_where_the_rule_is_off_nobody_keeps_apart() -> None:
    instance = ask(service("s", ["a", "b"], podAntiAffinity=away("job", "s")))
    assert sets_apart(instance, RULES - {Rule.ANTI_AFFINITY}) == frozenset()


def test_where_a_node_has_no_label_it_holds_any_number() -> None:
    nodes = [node("a", labels={"host": "a"}), node("b")]
    term = away("job", "s", "host")
    instance = question(nodes, [service("s", ["a"], podAntiAffinity=term)])
    assert sets_apart(instance, RULES) == frozenset()


def test_of_many_sets_the_largest_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apart, "MOST", 2)
    instance = ask(
        service("one", ["a"], podAntiAffinity=away("job", "one")),
        service("three", ["a", "b", "c"], podAntiAffinity=away("job", "three")),
        service("two", ["a", "b"], podAntiAffinity=away("job", "two")),
    )
    assert {term.others for term in sets_apart(instance, RULES)} == {(1,), (2,)}
    assert freedom_of(instance).tied == {0, 1, 2}
