"""A plan that needs a stop-over, from the documents to the script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

SNAPSHOT = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
nodes:
- {name: a, allocatable: {cpu: 5, memory: 64Gi}}
- {name: b, labels: {pool: x}, allocatable: {cpu: 6, memory: 64Gi}}
- {name: c, allocatable: {cpu: 4, memory: 64Gi}}
jobs:
- name: agent
  movable: false
  podSets:
  - {name: main, count: 2, minCount: 0, requests: {cpu: 1},
     assignments: [{node: a}, {node: b}]}
- name: small
  moveMode: live
  podSets:
  - {name: main, count: 1, requests: {cpu: 3, memory: 3Gi},
     assignments: [{node: a, pods: [{name: small-0, uid: u0}]}]}
- name: large
  moveMode: live
  podSets:
  - {name: main, count: 1, requests: {cpu: 4, memory: 8Gi},
     assignments: [{node: b, pods: [{name: large-0, uid: u1}]}]}
---
apiVersion: kantopt/v1alpha1
kind: JobList
jobs:
- {name: new, podSets: [{name: main, count: 1, requests: {cpu: 2}, nodeSelector: {pool: x}}]}
---
apiVersion: kantopt/v1alpha1
kind: Model
objectives: [unplaced, evictions, nodes_in_use, moves]
limits: {evictions: 0}
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("all.yaml").write_text(SNAPSHOT, encoding="utf-8")


def test_two_vms_change_places_by_way_of_a_third_machine(cli: Cli) -> None:
    """Only if both change places does the new pod fit without a third machine in use."""
    done = cli("plan", "all.yaml", "-o", "json")
    plan = json.loads(done.out)
    assert plan["solver"]["status"] == "OPTIMAL"
    assert (plan["summary"]["movedPods"], plan["summary"]["stopovers"]) == (2, 1)
    moves = {move["id"]: move for move in plan["moves"]}
    aside = next(move for move in moves.values() if move.get("stopover"))
    assert (aside["fromNode"], aside["toNode"]) in {("a", "c"), ("b", "c")}
    onward = next(move for move in moves.values() if move["fromNode"] == "c")
    assert onward["pods"] == aside["pods"]
    assert onward["pods"][0]["name"] == f"{aside['job'].removeprefix('default/')}-0"
    assert plan["timing"]["memoryBytes"] == sum(move["memoryBytes"] for move in moves.values())
    assert [len(wave["actions"]) for wave in plan["waves"]] == [1, 1, 2] or len(plan["waves"]) == 4
    Path("plan.json").write_text(done.out, encoding="utf-8")
    assert cli("verify", "all.yaml", "plan.json").code == 0
    plan["summary"]["stopovers"] = 0
    Path("plan.json").write_text(json.dumps(plan), encoding="utf-8")
    refused = cli("verify", "all.yaml", "plan.json")
    assert refused.code == 12
    assert "summary.stopovers" in refused.out


def test_the_limit_on_moves_holds_for_the_stop_over_too(cli: Cli) -> None:
    text = SNAPSHOT.replace("limits: {evictions: 0}", "limits: {evictions: 0, moves: 2}")
    Path("all.yaml").write_text(text, encoding="utf-8")
    plan = json.loads(cli("plan", "all.yaml", "-o", "json").out)
    assert plan["summary"].get("stopovers", 0) == 0
    assert plan["summary"]["placedPods"] == 1, "at the price of a third machine"
    assert any("no legal order" in warning for warning in plan.get("warnings", ()))
    nodes = next(row for row in plan["objectives"] if row["name"] == "nodes_in_use")
    assert (nodes["value"], nodes["status"]) == (3, "FEASIBLE")


def test_an_explanation_counts_a_pod_that_stops_over_once(cli: Cli) -> None:
    """Both nodes that are left get pods of the job, so the third one is but a place to wait."""
    wanted = (
        "- name: new\n  podSets:\n"
        "  - {name: main, count: 1, requests: {cpu: 2}, nodeSelector: {pool: x}}\n"
        "  - {name: side, count: 1, requests: {cpu: 4}, nodeSelector: {pool: z}}\n"
    )
    head, _, tail = SNAPSHOT.partition("- {name: new")
    text = head + wanted + tail.partition("\n")[2]
    text = text.replace("name: c, allocatable", "name: c, labels: {pool: z}, allocatable")
    Path("all.yaml").write_text(text, encoding="utf-8")
    told = json.loads(cli("explain", "all.yaml", "new", "-o", "json").out)
    assert told["verdict"]["status"] == "FITS_AFTER_MOVING"
    moves = told["plan"]["moves"]
    assert (len(moves), sum(move.get("stopover", False) for move in moves)) == (3, 1)
    assert told["plan"]["movedPods"] == 2
