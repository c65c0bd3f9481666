"""Nodes that meet an affinity, and pod sets that a selector selects, by their labels."""

from __future__ import annotations

import random

import pytest

from kantopt.problem import affinities, labelled
from kantopt.problem.affinities import PodLabels, Selections
from kantopt.problem.labelled import LabelledNodes
from kantopt.schema.base import Expression, LabelSelector
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.jobs import NodeSelectorTerm, PodSet
from kantopt.schema.selection import selector_matches
from tests.verify.world import node, question

OPERATORS = ("In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt")


def labels(rng: random.Random) -> dict[str, str]:
    return {key: str(rng.randint(0, 3)) for key in "abc" if rng.random() < 0.7}


def expressions(rng: random.Random, most: int = 3) -> tuple[Expression, ...]:
    def one() -> Expression:
        values = tuple(str(rng.randint(0, 3)) for _ in range(rng.randint(1, 3)))
        operator = rng.choice(OPERATORS)
        return Expression(
            key=rng.choice("abc"),
            operator=operator,  # type: ignore[arg-type]
            values=values[:1] if operator == "Gt" else values,
        )

    return tuple(one() for _ in range(rng.randint(0, most)))


@pytest.mark.parametrize("seed", range(100))
def test_nodes_that_meet_an_affinity_are_those_that_are_asked_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    nodes = question([node(f"n{i}", labels=labels(rng)) for i in range(9)], []).nodes
    names = Expression(key="metadata.name", operator="In", values=("n1", "n2", "n3"))
    terms = tuple(
        NodeSelectorTerm(
            match_expressions=expressions(rng), match_fields=(names,) if rng.random() < 0.3 else ()
        )
        for _ in range(rng.randint(0, 3))
    )
    expected = {each.index for each in nodes if affinity_matches(terms, each)}
    assert LabelledNodes(nodes).meeting(terms) == expected


@pytest.mark.parametrize("seed", range(100))
def test_pod_sets_selected_are_those_that_are_asked_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    pods = [
        PodLabels(s, rng.choice("xy"), PodSet(name="p", count=1, requests={}, labels=labels(rng)))
        for s in range(20)
    ]
    selections = Selections(pods)
    selector = LabelSelector(
        match_labels=labels(rng) if rng.random() < 0.3 else {},
        match_expressions=expressions(rng),
    )
    expected = [
        each.podset
        for each in pods
        if each.namespace == "x" and selector_matches(selector, each.document.labels)
    ]
    assert selections.select(selector, ("x",)) == tuple(expected)
    assert selections.selects(selector, "x") == bool(expected)


def test_hundreds_of_names_in_a_term_are_compared_with_no_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (labelled, affinities):
        fails = lambda *_: pytest.fail("a node or pod was asked")  # noqa: E731
        monkeypatch.setattr(module, "expression_matches", fails)
    nodes = question([node(f"n{i}", labels={"host": f"n{i}"}) for i in range(9)], []).nodes
    one = Expression(key="host", operator="In", values=tuple(f"n{i}" for i in range(500)))
    assert len(LabelledNodes(nodes).meeting((NodeSelectorTerm(match_expressions=(one,)),))) == 9
    pods = [
        PodLabels(s, "x", PodSet(name="p", count=1, requests={}, labels={"host": f"n{s}"}))
        for s in range(9)
    ]
    selector = LabelSelector(match_expressions=(one,))
    assert Selections(pods).select(selector, ("x",)) == tuple(range(9))
