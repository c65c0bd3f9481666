"""What a pod asks for, as a table: one row for each rule of KEP-753 and KEP-2837."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.errors import Problem
from kantopt.formats.kubernetes.pod_requests import pod_requests
from kantopt.formats.view import View


def box(requests: dict[str, Any], *, limits: Any = None, always: bool = False) -> dict[str, Any]:
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    return {"resources": resources, **({"restartPolicy": "Always"} if always else {})}


def spec(*containers: Any, init: Any = (), **rest: Any) -> dict[str, Any]:
    return {"containers": list(containers), "initContainers": list(init), **rest}


TABLE: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    ("containers add up", spec(box({"cpu": "1"}), box({"cpu": "500m"})), {"cpu": 1500}),
    ("nothing asked for", spec(box({})), {}),
    (
        "the largest init",
        spec(box({"cpu": 1}), init=[box({"cpu": 3}), box({"cpu": 2})]),
        {"cpu": 3000},
    ),
    ("a small init is free", spec(box({"cpu": 4}), init=[box({"cpu": 3})]), {"cpu": 4000}),
    (
        "sidecars run beside the containers",
        spec(box({"cpu": 1}), init=[box({"cpu": 2}, always=True)]),
        {"cpu": 3000},
    ),
    (
        "an init runs beside the sidecars before it",
        spec(box({"cpu": 1}), init=[box({"cpu": 2}, always=True), box({"cpu": 5})]),
        {"cpu": 7000},
    ),
    (
        "and not beside those after it",
        spec(box({"cpu": 1}), init=[box({"cpu": 5}), box({"cpu": 2}, always=True)]),
        {"cpu": 5000},
    ),
    (
        "each resource by itself",
        spec(box({"cpu": 2, "memory": "1Gi"}), init=[box({"cpu": 1, "memory": "2Gi"})]),
        {"cpu": 2000, "memory": 2 * 2**30},
    ),
    (
        "a limit stands for a request",
        spec(box({}, limits={"nvidia.com/gpu": 8})),
        {"nvidia.com/gpu": 8},
    ),
    ("a request stands above the limit", spec(box({"cpu": 1}, limits={"cpu": 4})), {"cpu": 1000}),
    (
        "the pod's own requests replace the sum",
        spec(box({"cpu": 1, "nvidia.com/gpu": 1}), resources={"requests": {"cpu": 6}}),
        {"cpu": 6000, "nvidia.com/gpu": 1},
    ),
    (
        "even when they are smaller",
        spec(box({"cpu": 1}), init=[box({"cpu": 9})], resources={"requests": {"cpu": 2}}),
        {"cpu": 2000},
    ),
    (
        "the pod's own limit fills what nothing asks for",
        spec(box({"cpu": 1}), resources={"limits": {"cpu": 6, "memory": "1Gi"}}),
        {"cpu": 1000, "memory": 2**30},
    ),
    (
        "devices cannot be asked for at pod level",
        spec(box({}), resources={"requests": {"nvidia.com/gpu": 4}}),
        {},
    ),
    (
        "the overhead comes on top",
        spec(box({"cpu": 1}), resources={"requests": {"cpu": 2}}, overhead={"cpu": "250m"}),
        {"cpu": 2250},
    ),
    ("bytes round up", spec(box({"memory": "1500m"})), {"memory": 2}),
]


@pytest.mark.parametrize(
    ("body", "expected"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_effective_requests(body: dict[str, Any], expected: dict[str, int]) -> None:
    problems: list[Problem] = []
    assert pod_requests(View(body, "f", (), problems)) == {**expected, "pods": 1}
    assert problems == []
