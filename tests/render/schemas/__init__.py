"""What objects of other systems may look like when a plan writes them, as JSON Schemas."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml


@cache
def _schema(name: str) -> Any:
    text = (Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def documents(text: str) -> list[dict[str, Any]]:
    """Read what a renderer wrote."""
    return [item for item in yaml.safe_load_all(text) if item is not None]


def check(document: dict[str, Any]) -> None:
    """Compare a document with the schema of its kind; pods within with those of Kubernetes."""
    kind, group = document["kind"], document["apiVersion"].rpartition("/")[0]
    if kind in ("Node", "EvictionRequest"):
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
        return
    name = {
        "kueue.x-k8s.io": "kueue-workload",
        "scheduling.koordinator.sh": "koordinator",
        "bus.volcano.sh": "volcano",
        "": "volcano" if "spec" in document else "koordinator",
    }[group]
    _schema(name).validate(document)
    if group == "scheduling.koordinator.sh":
        _check_template(document)


def _check_template(document: dict[str, Any]) -> None:
    spec = document["spec"]
    if "reservationOptions" in spec:
        spec = spec["reservationOptions"]["template"]["spec"]
    if "template" in spec:
        pod = {"apiVersion": "v1", "kind": "Pod", **spec["template"]}
        kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)


def checked_documents(text: str) -> list[dict[str, Any]]:
    """Read the documents of a rendered text, each checked against its schema."""
    found = documents(text)
    for document in found:
        check(document)
    return found
