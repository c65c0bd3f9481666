"""Selectors, affinity and tolerations mean what they mean to Kubernetes."""

from __future__ import annotations

import pytest

from kantopt.problem.cluster import Node, Taint
from kantopt.schema.base import Expression, LabelSelector, Toleration
from kantopt.schema.eligibility import affinity_matches, tolerates
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.selection import expression_matches, selector_matches

LABELS = {"zone": "x", "cores": "16", "empty": "", "word": "many"}


@pytest.mark.parametrize(
    ("key", "operator", "values", "matches"),
    [
        ("zone", "In", ("x", "y"), True),
        ("zone", "In", ("y",), False),
        ("zone", "In", (), False),
        ("missing", "In", ("x",), False),
        ("missing", "In", ("",), False),
        ("empty", "In", ("",), True),
        ("zone", "NotIn", ("y",), True),
        ("zone", "NotIn", ("x",), False),
        # A node without the label is not in any set: NotIn admits it.
        ("missing", "NotIn", ("x",), True),
        ("zone", "Exists", (), True),
        ("empty", "Exists", (), True),
        ("missing", "Exists", (), False),
        ("missing", "DoesNotExist", (), True),
        ("empty", "DoesNotExist", (), False),
        ("cores", "Gt", ("15",), True),
        ("cores", "Gt", ("16",), False),
        ("cores", "Lt", ("17",), True),
        ("cores", "Lt", ("16",), False),
        # As numbers, not as text.
        ("cores", "Gt", ("9",), True),
        ("word", "Gt", ("1",), False),
        ("cores", "Gt", ("few",), False),
        ("missing", "Lt", ("99",), False),
        ("cores", "Gt", (), False),
        ("cores", "Gt", ("1", "2"), False),
    ],
)
def test_expressions(key: str, operator: str, values: tuple[str, ...], matches: bool) -> None:
    expression = Expression.model_validate(
        {"key": key, "operator": operator, "values": values}, by_name=True
    )
    assert expression_matches(expression, LABELS) is matches


def test_an_empty_selector_selects_all() -> None:
    assert selector_matches(LabelSelector(), LABELS)
    assert selector_matches(LabelSelector(), {})


def test_all_requirements_of_a_selector_must_hold() -> None:
    exists = Expression(key="cores", operator="Exists")
    assert selector_matches(
        LabelSelector(match_labels={"zone": "x"}, match_expressions=(exists,)), LABELS
    )
    assert not selector_matches(
        LabelSelector(match_labels={"zone": "y"}, match_expressions=(exists,)), LABELS
    )
    assert not selector_matches(LabelSelector(match_labels={"zone": "x", "no": ""}), LABELS)


def machine(**labels: str) -> Node:
    return Node(0, "a", labels, (), False, True, (), (), 0)


def has(key: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(Expression(key=key, operator="Exists"),))


def named(name: str) -> NodeSelectorTerm:
    field = Expression(key="metadata.name", operator="In", values=(name,))
    return NodeSelectorTerm(match_fields=(field,))


def test_no_terms_admit_every_node() -> None:
    assert affinity_matches((), machine())


def test_one_term_of_several_is_enough() -> None:
    assert affinity_matches((has("x"), has("y")), machine(y=""))
    assert not affinity_matches((has("x"), has("y")), machine(z=""))


def test_a_term_without_requirements_admits_no_node() -> None:
    assert not affinity_matches((NodeSelectorTerm(),), machine())
    assert affinity_matches((NodeSelectorTerm(), has("x")), machine(x=""))


def test_fields_know_the_name_of_the_node() -> None:
    assert affinity_matches((named("a"),), machine())
    assert not affinity_matches((named("b"),), machine())


def test_expressions_and_fields_of_one_term_must_both_hold() -> None:
    both = NodeSelectorTerm(
        match_expressions=has("x").match_expressions, match_fields=named("a").match_fields
    )
    assert affinity_matches((both,), machine(x=""))
    assert not affinity_matches((both,), machine())


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        ({}, False),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "l", "operator": "Exists"}, False),
        # Without a key, Exists tolerates everything.
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], covers: bool) -> None:
    taint = Taint("k", "v", "NoSchedule")
    assert tolerates([Toleration.model_validate(toleration)], taint) is covers


def test_a_toleration_for_a_time_covers_a_noexecute_taint_only_where_that_is_enough() -> None:
    timed = [Toleration(key="k", operator="Exists", toleration_seconds=300)]
    execute, schedule = Taint("k", "v", "NoExecute"), Taint("k", "v", "NoSchedule")
    assert not tolerates(timed, execute)
    assert tolerates(timed, execute, for_a_time=True)
    assert tolerates(timed, schedule)


def test_one_toleration_of_several_is_enough() -> None:
    several = [Toleration(key="x"), Toleration(key="k", operator="Exists")]
    assert tolerates(several, Taint("k", "v", "NoExecute"))


def test_a_soft_taint_needs_no_toleration() -> None:
    assert tolerates([], Taint("k", "v", "PreferNoSchedule"))
    assert not tolerates([], Taint("k", "v", "NoSchedule"))
