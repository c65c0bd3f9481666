"""A goal beyond all that there is: missed, by as much as that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

SNAPSHOT = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
topology: {levels: [{name: rack, nodeLabel: rack}]}
nodes:
- {name: a, labels: {rack: r1}, allocatable: {nvidia.com/gpu: 8}}
- {name: b, labels: {rack: r2}, allocatable: {nvidia.com/gpu: 8}}
jobs:
- {name: one, podSets: [{count: 1, requests: {nvidia.com/gpu: 8}, assignments: [{node: a}]}]}
"""


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "snap.yaml").write_text(SNAPSHOT)
    monkeypatch.chdir(tmp_path)


GOALS = [
    ("empty-nodes=+9", 1, 10, 9, "9 nodes; provably no plan reaches it, and none comes closer"),
    ("empty-nodes=9,selector=rack=r2", 1, 9, 8, "8 nodes; provably no plan reaches it"),
    ("empty-domain=rack:+2", 1, 3, 2, "2 domains; provably no plan reaches it"),
    ("fragment-rate=nvidia.com/gpu:8:5", 1, 5, 4, "4 slots; provably no plan reaches it"),
]


@pytest.mark.parametrize(("goal", "after", "wanted", "short", "said"), GOALS)
def test_a_goal_beyond_all_that_there_is_says_what_was_asked_for_and_by_how_much_it_is_missed(
    cli: Cli, goal: str, after: int, wanted: int, short: int, said: str
) -> None:
    done = cli("defrag", "snap.yaml", "--goal", goal)
    assert done.code == 3
    assert done.out.splitlines()[0] == "Nothing to do; the goal is missed."
    assert f"missed by {said}" in done.out
    assert "reached" not in done.out
    assert "more than all that there is" in done.out
    assert cli("defrag", "snap.yaml", "--goal", goal, "--require-goal").code == 4
    assert cli("defrag", "snap.yaml", "--goal", goal, "-o", "json", "-O", "plan.json").code == 3
    plan: dict[str, Any] = json.loads(Path("plan.json").read_text())
    (row,) = plan["goals"]
    assert (row["after"], row["goal"], row["missedBy"]) == (after, wanted, short)
    assert cli("verify", "snap.yaml", "plan.json").code == 0
    assert f"missed by {said}" in cli("show", "plan.json").out


def test_a_goal_of_nodes_without_gpus_says_how_these_count(cli: Cli) -> None:
    plain = "- {name: c, labels: {rack: r3}, allocatable: {cpu: 8}}\njobs:"
    Path("snap.yaml").write_text(SNAPSHOT.replace("jobs:", plain))
    said = "nodes without GPUs count with class=cpu"
    for goal in ("empty-nodes=1,selector=rack=r3", "empty-domain=rack:1,selector=rack=r3"):
        assert said in cli("defrag", "snap.yaml", "--goal", goal).out
        assert "reached" in cli("defrag", "snap.yaml", "--goal", f"{goal},class=cpu").out
    assert said not in cli("defrag", "snap.yaml", "--goal", "empty-nodes=9").out


def test_two_goals_beyond_all_that_there_is_are_one_twice(cli: Cli) -> None:
    done = cli("defrag", "snap.yaml", "--goal", "empty-nodes=8", "--goal", "empty-nodes=9")
    assert done.code == 64
    assert "twice, expected each goal once" in done.err


def test_the_plan_of_another_goal_beyond_is_no_answer_to_this_one(cli: Cli) -> None:
    kept = ["--last-plan", "last.json"]
    for number, short in ((8, 7), (9, 8)):
        done = cli("defrag", "snap.yaml", "--goal", f"empty-nodes={number}", *kept)
        assert done.code == 3
        assert f"missed by {short} nodes" in done.out
