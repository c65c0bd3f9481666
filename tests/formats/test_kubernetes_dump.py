"""The committed dump: made by its script, and read as the cluster that it is."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from kantopt.formats.imported import Imported
from kantopt.formats.kubernetes.dump import import_kubernetes
from kantopt.formats.kubernetes.objects import flatten
from kantopt.schema.consistency import check_snapshot
from kantopt.schema.job_consistency import check_jobs
from tests.formats.cluster_objects import job

ROOT = Path(__file__).parents[2]
DUMP = ROOT / "instances" / "kubernetes" / "cluster.json"


def imported(gated: bool = False) -> Imported:
    objects = flatten(json.loads(DUMP.read_text(encoding="utf-8")))
    return import_kubernetes(objects, file="cluster.json", gated=gated)


def test_the_script_writes_the_committed_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    made = runpy.run_path(str(ROOT / "scripts" / "make_kubectl_dump.py"))["dump"]()
    assert made == DUMP.read_text(encoding="utf-8")
    assert len(made) < 400_000


def test_the_dump_is_sound_and_four_gang_schedulers_are_read_from_it() -> None:
    found = imported(gated=True)
    snapshot, pending = found.snapshot, found.pending
    assert check_snapshot(snapshot, "x") == []
    assert check_jobs(pending.jobs, snapshot, "x") == []
    assert len(snapshot.nodes) == 24
    assert [node.name for node in snapshot.nodes if node.unschedulable] == ["gpu-b1r3n4"]
    assert [node.name for node in snapshot.nodes if not node.ready] == ["gpu-b2r3n4"]
    kueue = job(snapshot.jobs, "job-pretrain")
    assert kueue.pod_sets[0].topology_request is not None
    assert kueue.pod_sets[0].topology_request.required == "block"
    assert not job(snapshot.jobs, "rl-build").preemptible
    assert job(snapshot.jobs, "graph-pg").min_count == 3
    assert {item.name for item in pending.jobs} == {"job-finetune", "rl-train", "eval"}
    assert job(pending.jobs, "eval").pod_sets[0].min_count == 4


def test_gated_pods_of_the_dump_wait_only_when_asked_for() -> None:
    assert {item.name for item in imported().pending.jobs} == {"rl-train", "eval"}


def test_everything_that_holds_room_in_the_dump_is_counted_on_its_node() -> None:
    used = sum(
        int(podset.requests.get("nvidia.com/gpu", 0)) * assignment.count
        for item in imported().snapshot.jobs
        for podset in item.pod_sets
        for assignment in podset.assignments
    )
    # pretrain 4 x 8, rl-build 2 x 4, graph 3 x 4, serve 5 and one that goes, the notebook.
    assert used == 32 + 8 + 12 + 6 + 1


def test_a_sidecar_an_init_container_and_the_overhead_count_in_the_dump() -> None:
    serve = job(imported().snapshot.jobs, "serve-7c9d").pod_sets[0]
    # The init container's 12 beside the sidecar's 500m, and 250m of overhead.
    assert serve.requests["cpu"] == "12750m"
    assert serve.disruption_cost == 5
    assert (serve.count, sum(item.count for item in serve.assignments)) == (6, 5)
