"""The published JSON Schemas describe what the reader accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import kantopt.schema
from kantopt.schema.published import PUBLISHED, published_schema

FOLDER = Path(kantopt.schema.__file__).parent / "json"
VERSION = {"apiVersion": "kantopt/v1alpha1"}


def objects(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield path, schema
        for key, value in schema.items():
            yield from objects(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from objects(value, f"{path}/{index}")


def is_valid(form: str, **data: Any) -> bool:
    return bool(
        Draft202012Validator(published_schema(form)).is_valid({**VERSION, "kind": form, **data})
    )


@pytest.mark.parametrize("kind", PUBLISHED)
def test_the_committed_schema_is_that_of_the_code(kind: str) -> None:
    committed = json.loads((FOLDER / f"{kind}.v1alpha1.json").read_text(encoding="utf-8"))
    assert committed == published_schema(kind), "run scripts/publish_schemas.py"


def test_no_other_schema_is_committed() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {
        f"{kind}.v1alpha1.json" for kind in PUBLISHED
    }


@pytest.mark.parametrize("kind", PUBLISHED)
def test_the_schema_is_valid_and_says_what_it_is(kind: str) -> None:
    schema = published_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:kantopt:v1alpha1:{kind}"


@pytest.mark.parametrize("kind", PUBLISHED)
def test_objects_are_closed_and_every_property_is_described(kind: str) -> None:
    found = list(objects(published_schema(kind)))
    assert len(found) > 1
    for path, schema in found:
        if "properties" in schema or "additionalProperties" not in schema:
            assert schema.get("additionalProperties") is False, path
        for name, prop in schema.get("properties", {}).items():
            assert prop.get("description"), f"{path}/properties/{name}"


def test_quantities_are_strings_or_integers() -> None:
    def node(amount: object) -> list[dict[str, Any]]:
        return [{"name": "a", "allocatable": {"cpu": amount}}]

    assert is_valid("ClusterSnapshot", nodes=node("500m"))
    assert is_valid("ClusterSnapshot", nodes=node(8))
    assert not is_valid("ClusterSnapshot", nodes=node(0.5))
    assert not is_valid("ClusterSnapshot", nodes=node(True))


@pytest.mark.parametrize(
    "objectives",
    [
        ["moves"],
        [{"moves": {}}],
        [{"unplaced": {"by": "all", "unit": "job"}}],
        [{"each_priority": ["unplaced", {"moves": {}}]}],
        [{"fragment_rate": {"size": 16}}],
        [{"stranded_gpus": {"mix": [{"requests": {"gpu": "500m"}}]}}],
    ],
)
def test_objectives_that_are_read_are_valid(objectives: list[Any]) -> None:
    assert is_valid("Model", objectives=objectives)


@pytest.mark.parametrize(
    "objectives",
    [
        ["movez"],
        ["fragment_rate"],
        ["each_priority"],
        [{}],
        [{"moves": None}],
        [{"moves": {}, "evictions": {}}],
        [{"unplaced": {"by": "name"}}],
        [{"each_priority": ["stranded_gpus"]}],
        [{"each_priority": []}],
    ],
)
def test_objectives_that_are_refused_are_invalid(objectives: list[Any]) -> None:
    assert not is_valid("Model", objectives=objectives)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("JobList", {"jobs": [{"name": "a"}]}),
        ("JobList", {"jobs": [{"name": "a", "podSets": []}]}),
        ("JobList", {"jobs": [{"name": "a", "podSets": [{"count": 0}]}]}),
        ("JobList", {"jobs": [{"name": "a", "pod_sets": [{"count": 1}]}]}),
        ("JobList", {"kind": "Jobs"}),
        ("ClusterSnapshot", {"node": []}),
        ("ClusterSnapshot", {"metadata": {"capturedAt": "yesterday"}}),
        ("ClusterSnapshot", {"queues": [{"name": "q", "minRuntime": "soon"}]}),
        ("Plan", {}),
    ],
)
def test_what_is_refused_is_invalid(kind: str, data: dict[str, Any]) -> None:
    assert not is_valid(kind, **data)


def test_a_sound_job_is_valid() -> None:
    device = {"class": "gpu", "requests": {"gpu": "500m"}}
    pods = {"count": 2, "devices": [device], "topologyRequest": {"required": "rack"}}
    assert is_valid("JobList", jobs=[{"name": "a", "podSets": [pods]}])
