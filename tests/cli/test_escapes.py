"""Names hold what a document says; a terminal obeys none of them, whatever the command shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

EVIL = "\x1b[2J\x9b31m\x07"
QUOTA = [{"name": "cpu", "nominalQuota": 4}]


def evil(name: str) -> str:
    return f"{name}{EVIL}"


def pod_set(name: str, count: int, cpu: int, on: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "name": evil(name),
        "count": count,
        "requests": {"cpu": cpu, evil("example.com/tape"): 1},
        "assignments": [{"node": node, "pods": [{"name": evil(f"pod-{node}")}]} for node in on],
    }


def job(name: str, priority: int, pods: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": evil(name),
        "namespace": evil("team"),
        "priority": priority,
        "queueName": evil("queue"),
        "podSets": [pods],
        **more,
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Documents in which every name holds an escape: a victim, a move, one job that waits."""
    level, a, b = evil("rack"), evil("a"), evil("b")
    nodes = [
        {
            "name": name,
            "labels": {evil("label"): evil(name)},
            "allocatable": {"cpu": 4, evil("example.com/tape"): 9},
            "taints": taints,
        }
        for name, taints in ((a, []), (b, [{"key": evil("key"), "effect": "NoSchedule"}]))
    ]
    snapshot = {
        "kind": "ClusterSnapshot",
        "metadata": {"name": evil("snapshot"), "capturedAt": "2026-09-01T03:00:00Z"},
        "topology": {"levels": [{"name": level, "nodeLabel": evil("label")}]},
        "queues": [
            {"name": evil("queue"), "cohort": evil("cohort"), "resources": QUOTA},
            {"name": evil("other"), "cohort": evil("cohort"), "resources": QUOTA},
        ],
        "nodes": nodes,
        "jobs": [
            job("old", 1, pod_set("w", 2, 2, (a, b))),
            job("stray", 1, pod_set("w", 1, 3, (b,))),
        ],
        "podDisruptionBudgets": [
            {
                "name": evil("budget"),
                "namespace": evil("team"),
                "selector": {},
                "disruptionsAllowed": 2,
            },
        ],
    }
    close = {"topologyRequest": {"required": level}}
    jobs = [
        job("new", 9, pod_set("w", 1, 4)),
        job("large", 9, pod_set("w", 2, 3), **close),
    ]
    model = {
        "kind": "Model",
        "metadata": {"name": evil("model")},
        "objectives": ["unplaced", "evictions", "moves", {"domains_in_use": {"level": level}}],
    }
    for name, document in (
        ("snap.json", snapshot),
        ("jobs.json", {"kind": "JobList", "jobs": jobs}),
        ("model.json", model),
    ):
        (tmp_path / name).write_text(json.dumps({"apiVersion": "kantopt/v1alpha1", **document}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


ALL = ("snap.json", "jobs.json", "model.json")
NEW = f"{evil('team')}/{evil('new')}"
COMMANDS = [
    ("plan", *ALL, "-v"),
    ("plan", *ALL, "-o", "wide"),
    ("plan", *ALL, "-o", "name"),
    ("plan", *ALL, "-o", "json"),
    ("plan", *ALL, "-o", "yaml"),
    ("plan", *ALL, "--for", NEW, "--clear", evil("rack")),
    ("plan", *ALL, "--for", NEW, "--clear", evil("rack"), "-o", "name"),
    ("plan", *ALL, "--for", evil("nobody")),
    ("plan", *ALL, "--for", NEW, "--clear", evil("nowhere")),
    ("explain", *ALL, NEW),
    ("explain", *ALL, NEW, "-o", "wide", "--what-if", f"cordon={evil('a')}"),
    ("explain", *ALL, NEW, "--what-if", f"remove={evil('nobody')}"),
    ("defrag", *ALL, "--goal", f"empty-domain={evil('rack')}:1"),
    ("defrag", *ALL, "--goal", f"empty-domain={evil('nowhere')}:1"),
    ("certify", *ALL),
    ("metrics", *ALL),
    ("verify", "snap.json"),
    ("verify", *ALL, "plan.json"),
    ("verify", "--against", "snap.json", "plan.json"),
    ("verify", evil("no-such-file")),
    ("render", *ALL, "plan.json", "--to", "svg"),
    ("render", "plan.json", "--to", "kubectl", "--evict-anyway", "--shell"),
    ("render", "plan.json", "--to", "kubectl", "--evict-anyway"),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments)[:60])
def test_no_escape_of_a_name_reaches_the_terminal(
    cli: Cli, folder: Path, arguments: tuple[str, ...]
) -> None:
    if "plan.json" in arguments:
        assert cli("plan", *ALL, "--engine", "fast", "-q", "-O", "plan.json").code == 0
    outcome = cli(*arguments, *(() if "--to" in arguments else ("--color", "never")))
    shown = outcome.out + outcome.err
    refused = ("no-such", "nobody", "nowhere")
    mistaken = any(name in each for each in arguments for name in refused)
    assert outcome.code in ((64, 65, 66) if mistaken else (0, 3, 10, 11, 12))
    assert [char for char in shown if not char.isprintable() and char != "\n"] == []
