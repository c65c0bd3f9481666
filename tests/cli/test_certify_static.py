"""``kantopt certify --after`` and static pods: a node starts them, and no scheduler chose it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.formats.cluster_objects import Object, node, pod


def dumped(name: str, *items: Object) -> str:
    Path(name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items]}))
    return name


@pytest.mark.parametrize("beside", [False, True])
def test_nobody_is_blamed_for_a_static_pod_that_overfills_its_node(
    cli: Cli, files: Path, *, beside: bool
) -> None:
    """Unless somebody has come there as well: who came last no dump tells."""
    nodes = [node("a", cpu="4"), node("b", cpu="4")]
    mirror = {"kubernetes.io/config.mirror": "x"}
    static = pod("s", on="a", owner="Node/a", annotations=mirror, requests={"cpu": "6"})
    stays, waits = pod("stays", on="b"), pod("waits", owner="ReplicaSet/w")
    came = pod("waits", on="a" if beside else "b", owner="ReplicaSet/w")
    first = dumped("first.json", *nodes, stays, waits)
    later = dumped("later.json", *nodes, stays, came, static)
    done = cli("certify", first, "--after", later, "--time-limit", "20s")
    assert ("capacity: node a: 7 of 4 cpu" in done.out) is beside
    assert done.out.startswith("ILLEGAL") is beside
