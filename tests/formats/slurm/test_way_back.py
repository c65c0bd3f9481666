"""Documents as Slurm prints them: read again they are the same, and what is lost is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.formats.slurm.export import export_slurm
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Assignment, Job, PodSet
from kantopt.schema.quantity import to_base
from kantopt.schema.raw import SLURM_TEXT, RawDocument, is_slurm_text
from kantopt.schema.snapshot import ClusterSnapshot, Node
from tests.formats.slurm.cases import clusters
from tests.formats.slurm.test_fixtures import CASES, read


def again(text: str) -> Imported:
    assert is_slurm_text(text)
    return import_slurm([RawDocument("text", 0, {SLURM_TEXT: text})])


def check(first: Imported) -> None:
    text, notes = export_slurm(first.snapshot, first.pending.jobs)
    second = again(text)
    assert second.snapshot == first.snapshot
    assert second.pending == first.pending
    assert notes.lines() == ()


NOT_TOLD = {"preempt-qos"}
"""Preemption is written by partitions, which do not tell that of QOS."""


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name not in NOT_TOLD], ids=lambda case: case.name
)
def test_what_slurm_printed_comes_back(case: Path) -> None:
    check(read(case))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(clusters())
def test_any_cluster_of_slurm_comes_back(text: str) -> None:
    check(again(text))


def test_preemption_by_qos_is_told_to_be_lost() -> None:
    first = read(next(case for case in CASES if case.name == "preempt-qos"))
    _, notes = export_slurm(first.snapshot, first.pending.jobs)
    assert any(note.startswith("jobs.priority: not told") for note in notes.lines())
    assert any(note.startswith("jobs.preemptible: not told") for note in notes.lines())


def test_what_slurm_has_no_words_for_is_told() -> None:
    node = Node(name="a", labels={"zone": "x"}, allocatable={"cpu": 4, "pods": 10}, price=3)
    job = Job(
        name="web",
        priority=7,
        pod_sets=(PodSet(count=2, min_count=0, requests={"cpu": "500m"}),),
    )
    snapshot = ClusterSnapshot(
        api_version="kantopt/v1alpha1", kind="ClusterSnapshot", nodes=(node,)
    )
    text, notes = export_slurm(snapshot, [job])
    assert "JobId=1 JobName=web" in text
    told = "\n".join(notes.lines())
    for what in ("nodes.price", "nodes.labels", "nodes.allocatable.pods", "jobs.podSets.minCount"):
        assert what in told
    assert "jobs.podSets.requests" in told
    assert "jobs that get a number" in told


def test_tasks_on_one_node_keep_all_of_its_room() -> None:
    requests = {"cpu": 8, "memory": "1Gi", "nvidia.com/gpu": 1}
    places = (Assignment(node="n1", count=3), Assignment(node="n2", count=2))
    job = Job(name="many", pod_sets=(PodSet(count=5, requests=requests, assignments=places),))
    offered = {"cpu": 64, "memory": "64Gi", "nvidia.com/gpu": 8}
    nodes = tuple(Node(name=name, allocatable=offered) for name in ("n1", "n2"))
    snapshot = ClusterSnapshot(
        api_version="kantopt/v1alpha1", kind="ClusterSnapshot", nodes=nodes, jobs=(job,)
    )
    text, _ = export_slurm(snapshot, ())
    held = {
        place.node: to_base("nvidia.com/gpu", podset.requests["nvidia.com/gpu"]) * place.count
        for found in again(text).snapshot.jobs
        for podset in found.pod_sets
        for place in podset.assignments
    }
    assert held == {"n1": 3, "n2": 2}


@pytest.mark.parametrize("cpus", [{}, {"cpu": "500m"}])
def test_a_node_below_one_cpu_is_written_with_one_and_that_is_told(cpus: dict[str, str]) -> None:
    nodes = (
        Node(name="small", allocatable={"memory": "1Mi", **cpus}),
        Node(name="whole", allocatable={"memory": "1Mi", "cpu": 1}),
    )
    snapshot = ClusterSnapshot(api_version=API_VERSION, kind="ClusterSnapshot", nodes=nodes)
    text, notes = export_slurm(snapshot, ())
    assert [node.allocatable["cpu"] for node in again(text).snapshot.nodes] == [1, 1]
    assert notes.lines() == ("nodes.allocatable.cpu: not told, or not all of it: 1 (small)",)
