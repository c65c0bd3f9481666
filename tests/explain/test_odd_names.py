"""Names may be anything: an explanation of jobs with odd names is that of jobs with plain ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kantopt.errors import UsageError
from kantopt.planning.explain.edits import edited
from kantopt.planning.explain.quoting import quoted, unquoted
from kantopt.schema.answers.explanation import Explanation
from tests.explain.helpers import asked, explained, model_of
from tests.explain.scenarios import SCENARIOS, Scenario
from tests.verify.world import job, node, pods

ODD = ("{}:1", "{}=2", "x {}", "{} remove=y", '"{}"', "{}\\", '{}":"', "'{}:")


def renamed(data: Any, names: dict[str, str]) -> Any:
    """Documents with other names, wherever they stand."""
    if isinstance(data, dict):
        return {names.get(key, key): renamed(value, names) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [renamed(item, names) for item in data]
    return names.get(data, data) if isinstance(data, str) else data


def odd_names(scenario: Scenario, odd: str) -> dict[str, str]:
    listed = [*scenario.nodes, *scenario.jobs, *(scenario.more or {}).get("queues", ())]
    podsets = [podset for each in scenario.jobs for podset in each["podSets"]]
    return {each["name"]: odd.format(each["name"]) for each in (*listed, *podsets)}


def told(scenario: Scenario, names: dict[str, str]) -> Explanation:
    question = asked(
        renamed(scenario.nodes, names),
        renamed(scenario.jobs, names),
        scenario.model,
        **renamed(scenario.more or {}, names),
    )
    explanation = explained(question, names.get(scenario.job, scenario.job))
    for remedy in explanation.remedies:
        if remedy.edit:
            assert edited(question, model_of(question), [remedy.edit]) != (question, None)
    return explanation


@pytest.mark.parametrize("make", SCENARIOS, ids=lambda make: make.__name__)
def test_remedies_do_not_depend_on_names(make: Callable[[], Scenario]) -> None:
    scenario = make()
    plain = told(scenario, {})
    odd = told(scenario, odd_names(scenario, ODD[SCENARIOS.index(make) % len(ODD)]))
    assert odd.verdict.status == plain.verdict.status
    found, expected = ([(each.kind, each.cost) for each in x.remedies] for x in (odd, plain))
    assert found == expected


@pytest.mark.parametrize("odd", ODD)
def test_a_quoted_name_is_that_name(odd: str) -> None:
    name = odd.format("team")
    assert unquoted(quoted(name)) == name
    question = asked([node("a")], [job(name, pods()), job("y", pods())])
    left, _ = edited(question, model_of(question), [f"remove={quoted('default/' + name)} remove=y"])
    assert left.jobs == ()
    changed, _ = edited(question, model_of(question), [f"set={quoted(name)}:main:cpu=2"])
    assert [each.pod_sets[0].requests["cpu"] for each in changed.jobs] == [2, 1]


@pytest.mark.parametrize("name", ["a:b", "a=b", "a b"])
def test_names_that_were_typed_unquoted_are_taken_where_they_are_clear(name: str) -> None:
    question = asked([node("a")], [job(name, pods())])
    assert edited(question, model_of(question), [f"remove={name}"])[0].jobs == ()
    with pytest.raises(UsageError, match="expected a job"):
        edited(question, model_of(question), [f'remove="{name}'])
