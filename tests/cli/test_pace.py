"""When and how fast: options that time a plan, and the windows of its model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

SNAPSHOT = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
metadata: {capturedAt: "2026-09-01T01:00:00Z"}
nodes:
- {name: a, allocatable: {cpu: 8, memory: 64Gi}}
- {name: b, allocatable: {cpu: 8, memory: 64Gi}}
jobs:
- name: fixed
  movable: false
  podSets: [{name: main, count: 1, requests: {cpu: 1, memory: 1Gi}, assignments: [{node: b}]}]
- name: vms
  moveMode: live
  podSets:
  - {name: main, count: 3, minCount: 0, requests: {cpu: 1, memory: 10Gi},
     assignments: [{node: a, count: 3}]}
"""
MODEL = """\
apiVersion: kantopt/v1alpha1
kind: Model
metadata: {name: nightly}
objectives: [nodes_in_use, moves]
limits: {evictions: 0}
schedule:
  windows: [{cron: "0 2 * * *", timezone: UTC, duration: 1h}]
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("snap.yaml").write_text(SNAPSHOT, encoding="utf-8")
    Path("model.yaml").write_text(MODEL, encoding="utf-8")


@pytest.mark.parametrize("command", ["plan", "defrag"])
def test_waves_are_timed_and_verified(cli: Cli, command: str) -> None:
    options = ("-m", "model.yaml", "--bandwidth", "4Gi", "--max-moves-per-wave", "2")
    done = cli(command, "snap.yaml", *options, "-O", "plan.json", "-q")
    assert done.code == 0
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    assert [wave["memoryBytes"] for wave in plan["waves"]] == [20 * 2**30, 10 * 2**30]
    assert [wave["durationSeconds"] for wave in plan["waves"]] == [5, 3]
    assert [wave["earliestStart"] for wave in plan["waves"]] == [
        "2026-09-01T02:00:00Z",
        "2026-09-01T02:00:05Z",
    ]
    assert plan["timing"] == {
        "reference": "2026-09-01T01:00:00Z",
        "memoryBytes": 30 * 2**30,
        "durationSeconds": 8,
        "earliestEnd": "2026-09-01T02:00:08Z",
    }
    assert cli("verify", "snap.yaml", "plan.json").code == 0


def test_what_pods_write_while_they_move_is_copied_again_and_takes_time(cli: Cli) -> None:
    """The first round of each pod takes 10 s at 1 GiB a second, each next one half of the last."""
    writing = SNAPSHOT.replace("minCount: 0,", "minCount: 0, dirtyRate: 512Mi,")
    Path("snap.yaml").write_text(writing, encoding="utf-8")
    options = ("-m", "model.yaml", "--bandwidth", "1Gi")
    assert cli("plan", "snap.yaml", *options, "-O", "plan.json", "-q").code == 0
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    copied = sum(10 * 2**30 >> i for i in range(11))
    assert plan["timing"]["memoryBytes"] == 3 * copied
    assert plan["timing"]["durationSeconds"] == -(-3 * copied // 2**30) == 60
    assert cli("verify", "snap.yaml", "plan.json").code == 0


def test_the_table_tells_memory_and_times(cli: Cli) -> None:
    out = cli("plan", "snap.yaml", "-m", "model.yaml", "--bandwidth", "1Gi").out
    assert out.startswith("Move 3 pods (30Gi live).")
    assert "SCHEDULE, copying 30s along the longest chain, all done by 2026-09-01T02:00:30Z" in out
    assert "   1  30Gi    30s      2026-09-01T02:00:00Z" in out


def test_now_stands_in_for_the_moment_of_the_snapshot(cli: Cli) -> None:
    options = ("-m", "model.yaml", "--now", "2026-09-01T02:59:59+00:00")
    done = cli("plan", "snap.yaml", *options, "-o", "json")
    plan = json.loads(done.out)
    assert plan["waves"][0]["earliestStart"] == "2026-09-01T02:59:59Z"
    Path("plan.json").write_text(done.out, encoding="utf-8")
    assert cli("verify", "snap.yaml", "plan.json").code == 0


def test_windows_without_a_moment_are_said_to_have_no_effect(cli: Cli) -> None:
    bare = SNAPSHOT.replace('metadata: {capturedAt: "2026-09-01T01:00:00Z"}\n', "")
    Path("snap.yaml").write_text(bare, encoding="utf-8")
    done = cli("plan", "snap.yaml", "-m", "model.yaml", "-o", "json")
    assert "windows have no effect without capturedAt" in done.err
    assert "earliestStart" not in done.out
    assert "windows" not in cli("plan", "snap.yaml", "-m", "model.yaml", "-o", "name", "-q").err


@pytest.mark.parametrize(
    "options",
    [("--now", "tomorrow"), ("--bandwidth", "fast"), ("--max-moves-per-wave", "0")],
)
def test_what_cannot_be_read_is_refused(cli: Cli, options: tuple[str, str]) -> None:
    done = cli("plan", "snap.yaml", *options)
    assert done.code == 64
    assert options[0] in done.err
