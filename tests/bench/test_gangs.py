"""Composed clusters: as full as asked for, legal as they stand, with gangs that wait."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from kantopt.simulate.workload.sizes import Sizes
from kantopt.verify.rules import check_standing
from scripts.bench.arrivals import WAITING, arrived
from scripts.bench.case import Documents
from scripts.bench.gang_cluster import GPU
from scripts.bench.gang_sizes import read_distribution
from scripts.bench.gangs import cases, kant, lingjun, nvl72

DATA = os.environ.get("KANTOPT_DATA")


def used_share(made: Documents) -> float:
    """Share of the GPUs that run something."""
    used = sum(
        int(podset.requests.get(GPU, 0)) * sum(place.count for place in podset.assignments)
        for job in made.jobs
        for podset in job.pod_sets
    )
    return used / sum(int(node.allocatable[GPU]) for node in made.snapshot.nodes)


def assert_sound(made: Documents) -> None:
    instance = build_instance(made.snapshot, made.pending, load_model("training"))
    assert not check_standing(instance)
    assert made.pending_pods() > 0


def test_a_generated_cluster_is_as_full_as_asked_for() -> None:
    made = kant(100, 0.8, 1, None)
    assert_sound(made)
    assert 0.75 <= used_share(made) <= 0.8
    assert sum(running for _, running in made.pods_by_priority().values()) >= 950
    assert len(made.pending) == 25


@pytest.mark.parametrize("waiting", WAITING)
def test_few_jobs_arrive_on_a_cluster_that_is_in_use(waiting: int) -> None:
    made = arrived(100, 0.8, waiting, 1, None)
    assert_sound(made)
    assert made.snapshot.nodes == kant(100, 0.8, 1, None).snapshot.nodes
    assert len(made.pending) == waiting


def test_seeds_vary_an_instance_and_repeat_it() -> None:
    assert kant(64, 0.7, 1, None) == kant(64, 0.7, 1, None)
    assert kant(64, 0.7, 1, None) != kant(64, 0.7, 2, None)


def test_gangs_that_fit_a_leaf_sometimes_require_one() -> None:
    wishes = [job.topology_request for job in kant(1250, 0.7, 3, None).pending]
    assert {None if wish is None else wish.required for wish in wishes} == {None, "leaf", "block"}


def test_segments_of_16_lie_in_racks_of_18_nodes_of_4() -> None:
    made = nvl72(12, 0.8, 1)
    assert_sound(made)
    racks = {node.labels["rack"] for node in made.snapshot.nodes}
    assert len(made.snapshot.nodes) == 18 * len(racks)
    for job in made.pending:
        podset = job.pod_sets[0]
        assert podset.topology_request is not None
        assert podset.count % 16 == 0
        assert podset.topology_request.pod_set_slice_size == 16


def test_a_distribution_counts_what_lies_between_its_vertices_for_the_upper_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cdf.txt"
    path.write_text("CDF of jobs X 0.1245:50.0 1:50.0 2:70.0 8:100.0\n")
    assert read_distribution(path, "jobs", "X") == Sizes((1, 2, 8), (0.0, 20.0, 30.0))
    assert Sizes((1, 2, 8), (0.0, 20.0, 30.0)).from_gpus(2, 4).gpus == (2,)


def test_cases_are_named_by_what_their_sizes_are_from() -> None:
    names = [case.instance for case in cases((100,), (85,), (1,), None)]
    assert names == ["kant-own-n00100-u085", "nvl72-n00648-u085"]


@pytest.mark.data
@pytest.mark.skipif(DATA is None, reason="needs third-party data: KANTOPT_DATA is unset")
def test_real_hosts_and_real_sizes_make_a_cluster() -> None:
    made = lingjun(0.85, 1, Path(str(DATA)))
    assert_sound(made)
    assert len(made.snapshot.nodes) == 847
    leaves = {(node.labels["aggregation"], node.labels["leaf"]) for node in made.snapshot.nodes}
    assert len(leaves) == 119
    assert len(made.pending) == 50
    assert 0.8 <= used_share(made) <= 0.85
