"""``kantopt drain`` and pods that are only nominated to a node: cordoned, it takes none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.formats.cluster_objects import node, pod


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def planned(cli: Cli, *arguments: str, code: int = 0, **spec: Any) -> dict[str, Any]:
    """The plan for nodes a and b, a pod that waits nominated to a, and one that ends there."""
    waits = pod("p", owner="Job/p", priority=9, **spec)
    waits["status"]["nominatedNodeName"] = "a"
    ends = pod("v", on="a", requests={"cpu": "8"}, metadata={"deletionTimestamp": "2026-01-01"})
    objects = [node("a"), node("b"), ends, waits]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    Path("snap.yaml").write_text(text)
    done = cli("defrag", "snap.yaml", "--goal", "drain=a", *arguments, "-O", "plan.json")
    assert done.code == code, done.err
    for judge in (("snap.yaml",), ("--against", "snap.yaml")):
        assert cli("verify", *judge, "plan.json").code == 0
    plan: dict[str, Any] = json.loads(Path("plan.json").read_text())
    return plan


def test_a_pod_nominated_to_a_drained_node_does_not_stay_there(cli: Cli) -> None:
    said = " ".join(planned(cli)["warnings"])
    assert "default/p/main on a; once the node is cordoned it waits as any pending pod" in said
    assert "stays on" not in said


def test_a_pod_that_tolerates_the_cordon_stays_nominated(cli: Cli) -> None:
    cordon = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    said = " ".join(planned(cli, code=3, tolerations=[cordon])["warnings"])
    assert "default/p/main, not movable: nominated to its node and not started" in said
    assert "once the node is cordoned" not in said


def test_room_is_found_for_a_pod_that_is_nominated_to_a_drained_node(cli: Cli) -> None:
    (bind,) = planned(cli, "--goal", "fit=default/p")["assignments"]
    assert (bind["node"], [each["name"] for each in bind["pods"]]) == ("b", ["p"])
