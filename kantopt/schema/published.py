"""The JSON Schemas that editors and other tools check documents with."""

from __future__ import annotations

from functools import cache
from typing import Any

from kantopt.schema.answers.capacity import Capacity
from kantopt.schema.answers.explanation import Explanation
from kantopt.schema.answers.prices import PriceList
from kantopt.schema.answers.reports import Conversion, MetricsReport, Verdict
from kantopt.schema.answers.simulation import Simulation
from kantopt.schema.answers.sweep import Sweep
from kantopt.schema.base import Part
from kantopt.schema.model import Objective, PriorityObjective
from kantopt.schema.validation import KINDS

PUBLISHED: dict[str, type[Part]] = {
    **KINDS,
    "Capacity": Capacity,
    "Conversion": Conversion,
    "Explanation": Explanation,
    "Metrics": MetricsReport,
    "PriceList": PriceList,
    "Simulation": Simulation,
    "Sweep": Sweep,
    "Verdict": Verdict,
}
"""Documents whose form is published: those that are read, and answers that other tools read."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def published_schema(kind: str) -> dict[str, Any]:
    """Give the JSON Schema (2020-12) of a kind of document.

    Raises
    ------
    KeyError
        If there is no such kind.
    """
    return {
        "$schema": _DIALECT,
        "$id": f"urn:kantopt:v1alpha1:{kind}",
        **_body(PUBLISHED[kind]),
    }


@cache
def _body(part: type[Part]) -> dict[str, Any]:
    schema = part.model_json_schema(by_alias=True, mode="validation")
    for name, definition in schema.get("$defs", {}).items():
        for objective in (Objective, PriorityObjective):
            if name == objective.__name__:
                schema["$defs"][name] = _objective(objective, definition)
    cleaned: dict[str, Any] = _without_titles(schema)
    return cleaned


def _objective(part: type[PriorityObjective], definition: dict[str, Any]) -> dict[str, Any]:
    """Allow a bare name: the validator that reads it is invisible to pydantic's own schema."""
    for name, prop in definition["properties"].items():
        prop.pop("default", None)
        # Written in a mapping a metric has parameters, if only {}; null says nothing.
        branches = [branch for branch in prop.pop("anyOf") if branch != {"type": "null"}]
        definition["properties"][name] = {**branches[0], **prop}
    return {
        "description": definition["description"],
        "anyOf": [
            {"enum": bare_names(part), "description": "a metric by its name"},
            {**definition, "minProperties": 1, "maxProperties": 1},
        ],
    }


def bare_names(part: type[PriorityObjective]) -> list[str]:
    """Names that alone make an objective: those of metrics without a required parameter."""
    from pydantic import ValidationError

    names = []
    for name in part.model_fields:
        try:
            part.model_validate(name)
        except ValidationError:
            continue
        names.append(name)
    return names


def _without_titles(schema: Any) -> Any:
    """Drop the titles that pydantic makes of the names: they repeat them."""
    if isinstance(schema, dict):
        return {
            key: (
                {name: _without_titles(prop) for name, prop in value.items()}
                if key in ("properties", "$defs")
                else _without_titles(value)
            )
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    return schema
