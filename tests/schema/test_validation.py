"""Problems are named in plain words, all at once, with a guess at what was meant."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.schema.base import Part
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import document_class, validate

VERSION = "kantopt/v1alpha1"


def refusal(cls: type[Part], **data: Any) -> str:
    raw = RawDocument("f", 0, {"apiVersion": VERSION, "kind": cls.__name__, **data})
    with pytest.raises(BadDataError) as refused:
        validate(raw, cls)
    return str(refused.value)


def test_a_good_document_is_read_with_lists_as_tuples() -> None:
    data = {
        "apiVersion": VERSION,
        "kind": "Model",
        "objectives": [
            "unplaced",
            {"each_priority": ["evictions", {"moves": {"by": "priority"}}]},
            {"stranded_gpus": {"mix": [{"count": 2, "requests": {"nvidia.com/gpu": 1}}]}},
        ],
    }
    model = validate(RawDocument("f", 0, data), Model)
    assert model.objectives is not None
    assert [objective.name for objective in model.objectives] == [
        "unplaced",
        "each_priority",
        "stranded_gpus",
    ]


def test_the_document_is_named_among_several() -> None:
    raw = RawDocument("f", 3, {"apiVersion": VERSION, "kind": "JobList", "jobs": 1})
    with pytest.raises(BadDataError, match=r"^f#3: jobs: found 1 \(a whole number\)"):
        validate(raw, JobList)


def test_problems_are_sorted_by_place_with_numbers_as_numbers() -> None:
    nodes = [{"name": str(i)} for i in range(12)]
    nodes[10] = nodes[9] = {}
    places = [line.split(": ")[1] for line in refusal(ClusterSnapshot, nodes=nodes).splitlines()]
    assert places == ["nodes[9].name", "nodes[10].name"]


def test_a_field_name_in_snake_case_is_refused_although_python_code_may_use_it() -> None:
    message = refusal(ClusterSnapshot, priority_classes=[])
    assert "priority_classes: found an unknown field" in message
    assert "did you mean priorityClasses?" in message


def test_a_name_that_resembles_nothing_lists_the_known_fields() -> None:
    message = refusal(JobList, spec={})
    assert message == (
        "f: spec: found an unknown field, expected one of apiVersion, kind, metadata, jobs"
    )


def test_a_misspelt_required_field_is_one_problem_not_two() -> None:
    message = refusal(JobList, jobs=[{"nane": "a", "podSets": [{"count": 1}]}])
    assert message.splitlines() == [
        "f: jobs[0].nane: found an unknown field, expected a known field (did you mean name?)"
    ]


def test_a_quantity_gives_one_problem_although_two_types_are_possible() -> None:
    message = refusal(ClusterSnapshot, nodes=[{"name": "a", "allocatable": {"cpu": [1]}}])
    assert message == (
        "f: nodes[0].allocatable.cpu: found a list of 1, "
        "expected a quantity such as 500m, 16Gi or 8"
    )


def test_long_values_are_shortened() -> None:
    message = refusal(JobList, metadata={"name": 3}, jobs="x" * 1000)
    assert len(message) < 250


def test_a_null_is_advised_to_be_left_out_only_where_it_may_be() -> None:
    assert "leave the field out" in refusal(ClusterSnapshot, nodes=None)
    budget = {"name": "a", "selector": None}
    assert "leave the field out" not in refusal(ClusterSnapshot, podDisruptionBudgets=[budget])


def test_an_unknown_metric_is_one_problem_with_a_guess() -> None:
    message = refusal(Model, objectives=["unplaced", "movez"])
    assert message.startswith('f: objectives[1]: found the unknown metric "movez", expected one of')
    assert message.endswith("(did you mean moves?)")
    assert "\n" not in message


def test_nesting_beyond_the_limit_is_refused() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    assert "levels of nesting" in refusal(JobList, jobs=deep)


@pytest.mark.parametrize("name", ["ClusterSnapshot", "JobList", "Model", "Plan"])
def test_the_kind_decides_the_form(name: str) -> None:
    raw = RawDocument("f", 0, {"apiVersion": VERSION, "kind": name})
    assert document_class(raw).__name__ == name


def test_version_and_kind_are_both_reported() -> None:
    with pytest.raises(BadDataError) as refused:
        document_class(RawDocument("f", 0, {"apiVersion": "kantopt/v2", "kind": "Plans"}))
    version, kind = str(refused.value).splitlines()
    assert version.endswith("expected kantopt/v1alpha1 (the only version supported)")
    assert kind.endswith("(did you mean Plan?)")
