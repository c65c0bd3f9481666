"""A Job that fails, as more of its pods go than it bears, is told with the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.formats.cluster_objects import Object, node, pod


def job(limit: int, failed: int) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sweep", "namespace": "default", "uid": "Job/sweep"},
        "spec": {"parallelism": 3, "backoffLimit": limit},
        "status": {"active": 3, "failed": failed},
    }


@pytest.mark.parametrize(
    ("limit", "failed", "size", "said"),
    [
        (2, 1, 2, "2 of its pods go, and its backoffLimit bears 1: the Job fails, and its 1 other"),
        (3, 1, 2, ""),
        (0, 0, 3, "3 of its pods go, and its Job bears none: the Job fails"),
        (0, 0, 0, ""),
    ],
)
@pytest.mark.usefixtures("files")
def test_evictions_beyond_the_backoff_limit_of_a_job_are_told(
    cli: Cli, limit: int, failed: int, size: int, said: str
) -> None:
    owner = "Job/sweep"
    dump = [
        node("a", cpu="3"),
        job(limit, failed),
        *(pod(f"sweep-{i}", on="a", owner=owner, restartPolicy="Never") for i in range(3)),
        *([pod("big", requests={"cpu": str(size)}, priority=9)] if size else []),
    ]
    Path("dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": dump}))
    done = cli("plan", "dump.json", "-o", "json", "--engine", "fast")
    plan = json.loads(done.out)
    assert plan["summary"]["evictedPods"] == size
    warned = [text for text in plan.get("warnings", ()) if "the Job fails" in text]
    assert len(warned) == bool(said)
    assert all(text.startswith(f"job default/sweep: {said}") for text in warned)
    if size:
        told = cli("explain", "dump.json", "app", "-o", "json").out
        assert ("the Job fails" in told) == bool(said)
    other = cli("plan", "dump.json", "-o", "json", "--disturb", "backoff-limit")
    assert "the Job fails" not in other.out
