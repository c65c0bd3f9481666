"""The numbers of ``metrics`` against numbers known beforehand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

DATA = os.environ.get("KANTOPT_DATA")

SPREAD_OUT = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
metadata: {name: two-racks, capturedAt: "2026-09-01T04:00:00Z"}
topology: {levels: [{name: rack, nodeLabel: rack}]}
nodes:
- {name: a1, labels: {rack: a, nvidia.com/gpu.product: H100}, allocatable: {nvidia.com/gpu: 8}}
- {name: a2, labels: {rack: a, nvidia.com/gpu.product: H100}, allocatable: {nvidia.com/gpu: 8}}
- {name: b1, labels: {rack: b, nvidia.com/gpu.product: A100}, allocatable: {nvidia.com/gpu: 8}}
- {name: b2, labels: {rack: b, nvidia.com/gpu.product: A100}, allocatable: {nvidia.com/gpu: 8}}
jobs:
- name: apart
  podSets:
  - count: 4
    requests: {nvidia.com/gpu: 2}
    assignments: [{node: a1, count: 1}, {node: a2, count: 1}, {node: b1, count: 2}]
---
apiVersion: kantopt/v1alpha1
kind: JobList
jobs:
- {name: w1, creationTime: "2026-09-01T03:00:00Z", podSets: [{count: 1, requests: {cpu: 1}}]}
- name: w2
  creationTime: "2026-09-01T02:00:00Z"
  podSets: [{count: 3, minCount: 1, requests: {nvidia.com/gpu: 8}}]
"""


def report(cli: Cli, *arguments: str) -> dict[str, Any]:
    done = cli("metrics", *arguments, "-o", "json")
    assert done.code == 0, done.err
    parsed: dict[str, Any] = json.loads(done.out)
    return parsed


def figure(report: dict[str, Any], metric: str, scope: str = "", unit: str = "") -> Any:
    found = [
        item["before"]
        for item in report["figures"]
        if item["metric"] == metric
        and item.get("scope", "") == scope
        and unit in ("", item["unit"])
    ]
    assert len(found) == 1
    return found[0]


@pytest.fixture
def measured(tmp_path: Path, cli: Cli) -> dict[str, Any]:
    (tmp_path / "c.yaml").write_text(SPREAD_OUT)
    arguments = ("--slot", "4", "--slot-resource", "nvidia.com/gpu")
    return report(cli, str(tmp_path / "c.yaml"), *arguments)


def test_shares_of_the_cluster_and_of_each_pool(measured: dict[str, Any]) -> None:
    assert figure(measured, "allocation") == {"value": 8000, "of": 32000}
    assert figure(measured, "allocation", "H100") == {"value": 4000, "of": 16000}
    assert figure(measured, "fragmented_nodes") == {"value": 3, "of": 4}
    assert figure(measured, "nodes_in_use") == {"value": 3, "of": 4}


def test_free_slots_of_a_size(measured: dict[str, Any]) -> None:
    # Free are 6, 6, 4 and 8 GPUs: 1 + 1 + 1 + 2 slots of 4, and 2 + 2 GPUs in none.
    scope = "4 nvidia.com/gpu per node"
    assert figure(measured, "free_slots", scope) == {"value": 5, "of": 6}
    assert figure(measured, "fragment_rate", scope) == {"value": 4, "of": 24}


def test_stranded_gpus_are_weighted_by_the_mix(measured: dict[str, Any]) -> None:
    # Mix: 4 pods of 2 GPUs, which use all; 3 pods of 8, which cannot use 6 + 6 + 4.
    assert figure(measured, "stranded_gpus") == {"value": 6857, "of": 24000}


def test_unplaced_in_three_units(measured: dict[str, Any]) -> None:
    values = [figure(measured, "unplaced", "priority=0", unit) for unit in _UNITS]
    assert [value["value"] for value in values] == [24000, 2, 4]


_UNITS = ("milli-GPU", "jobs", "pods")


def test_how_far_gangs_are_spread_by_size(measured: dict[str, Any]) -> None:
    spreads = {(s["metric"], s["size"]): s["before"] for s in measured["spreads"]}
    # One gang of 8 GPUs on 3 nodes of 2 racks; one node would do.
    assert spreads["D_node", "8"] == {
        "count": 1,
        "mean": 3.0,
        "p50": 3.0,
        "p90": 3.0,
        "max": 3.0,
        "least": 0,
    }
    assert spreads["D_group", "8"]["max"] == 2.0
    assert figure(measured, "excess_nodes")["value"] == 2
    assert figure(measured, "excess_groups", "rack")["value"] == 1


def test_waiting_so_far_by_size(measured: dict[str, Any]) -> None:
    spreads = {s["size"]: s["before"] for s in measured["spreads"] if s["metric"] == "waiting"}
    assert {size: spread["mean"] for size, spread in spreads.items()} == {
        "CPU only": 3600.0,
        "9-63": 7200.0,
    }
    assert figure(measured, "waiting")["value"] == 10800


def test_without_a_moment_waiting_is_not_known(tmp_path: Path, cli: Cli) -> None:
    text = SPREAD_OUT.replace(', capturedAt: "2026-09-01T04:00:00Z"', "")
    (tmp_path / "c.yaml").write_text(text)
    found = report(cli, str(tmp_path / "c.yaml"))
    assert not [s for s in found["spreads"] if s["metric"] == "waiting"]
    assert [note for note in found["notes"] if "no capturedAt" in note]


def test_a_plan_that_breaks_a_rule_here_is_told(files: Path, cli: Cli) -> None:
    cli("plan", "snap.yaml", "jobs.yaml", "-O", "plan.json", "-q")
    text = Path("snap.yaml").read_text()
    Path("less.yaml").write_text(text.replace("nvidia.com/gpu: 8}}", "nvidia.com/gpu: 7}}", 3))
    done = cli("metrics", "less.yaml", "plan.json")
    assert "verify says more" in done.out
    assert "AFTER" not in done.out  # what it would come to here need not even be possible
    assert report(cli, "less.yaml", "plan.json")["notes"][0].startswith("the plan is not legal")
    for form in ("svg", "html"):
        warned = cli("render", "less.yaml", "plan.json", "--to", form).err
        assert warned.startswith("kantopt: warning: the plan is not legal here (capacity: ")
    Path("gone.yaml").write_text(text.replace("gpu-002", "gpu-009"))
    assert cli("metrics", "gone.yaml", "plan.json").code == 65


@pytest.mark.parametrize("started", [False, True])
def test_gpu_time_that_is_lost_and_not_known_is_told(
    tmp_path: Path, cli: Cli, started: bool
) -> None:
    text = SPREAD_OUT.replace("count: 4\n", "count: 4\n    priorityClassName: low\n", 0)
    if started:
        text = text.replace("- name: apart", '- name: apart\n  startTime: "2026-09-01T03:00:00Z"')
    urgent = text.replace("- name: w2", "- name: w2\n  priority: 9")
    (tmp_path / "c.yaml").write_text(urgent)
    asked = str(tmp_path / "c.yaml")
    plan = str(tmp_path / "p.json")
    assert cli("plan", asked, "-O", plan, "-q").code in (0, 4)
    notes = report(cli, asked, plan).get("notes", [])
    said = [note for note in notes if note.startswith("GPU time lost is unknown of ")]
    assert bool(said) is not started


def test_objectives_of_the_model_name_slots_and_levels(files: Path, cli: Cli) -> None:
    Path("m.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: Model\nobjectives:\n"
        "- fragment_rate: {resource: cpu, size: 8}\n- excess_groups: {level: rack}\n"
        "- stranded_gpus: {mix: [{requests: {nvidia.com/gpu: 8}}]}\n"
    )
    found = report(cli, "snap.yaml", "m.yaml")
    assert figure(found, "free_slots", "8 cpu per node")["value"] == 11 + 12 + 11
    # Two nodes have 4 free, of which a pod of 8 uses none.
    assert figure(found, "stranded_gpus") == {"value": 8000, "of": 16000}


@pytest.mark.data
@pytest.mark.skipif(DATA is None, reason="KANTOPT_DATA names no folder of third-party data")
def test_the_published_fragment_rate_is_reproduced(tmp_path: Path, cli: Cli) -> None:
    source = Path(str(DATA)) / "vm_rescheduling" / "reset_vm_pm_id_clear2.json"
    out = tmp_path / "vm.json"
    assert cli("convert", "--from", "vm-rescheduling", str(source), "-O", str(out)).code == 0
    done = cli("metrics", str(out), "--slot", "16", "--slot-devices", "numa")
    rate = next(line for line in done.out.splitlines() if line.startswith("FR16"))
    slots = next(line for line in done.out.splitlines() if line.startswith("free slots"))
    assert rate.split()[-1] == "0.9770"
    assert "2/87 slots" in slots


def test_more_than_ten_thousand_gpus_are_measured(cli: Cli, tmp_path: Path) -> None:
    text = SPREAD_OUT.replace("nvidia.com/gpu: 8}", "nvidia.com/gpu: 4000}")
    (tmp_path / "large.yaml").write_text(text)
    done = cli("metrics", str(tmp_path / "large.yaml"))
    assert (done.code, done.err) == (0, "")
    assert "8/16000 GPUs" in done.out


@pytest.mark.parametrize(("taken", "known"), [("2026-09-01T02:00:00Z", True), (None, False)])
def test_waiting_times_are_known_where_the_moment_of_the_snapshot_is(
    tmp_path: Path, cli: Cli, taken: str | None, known: bool
) -> None:
    """Also where all that wait have come in this very moment."""
    text = SPREAD_OUT.replace("T03:00", "T02:00")
    moment = ', capturedAt: "2026-09-01T04:00:00Z"'
    assert moment in text
    (tmp_path / "c.yaml").write_text(text.replace(moment, f', capturedAt: "{taken}"' * known))
    notes = report(cli, str(tmp_path / "c.yaml")).get("notes", ())
    said = "how long jobs have waited is not known: the snapshot has no capturedAt"
    assert (said in notes) is not known
