"""The published recipe, number by number, and the start that the default scheduler makes."""

from __future__ import annotations

import pytest

from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from kantopt.verify.rules import check_standing
from scripts.bench.priority_matters import Cell, cases, documents, recipe
from scripts.bench.published import PEER_RUNS, PeerRun

SEED = 484806185843093489


def test_the_recipe_draws_what_was_published() -> None:
    drawn = recipe(Cell(4, 4, 4, 95), SEED)
    assert (drawn.cpu_milli, drawn.memory_bytes) == (1926, 2103397777)
    sets = [(s.name, s.pods, s.cpu_milli, s.memory_bytes) for s in drawn.replica_sets]
    assert sets == [
        ("rs-01-p3", 4, 427, 343966759),
        ("rs-02-p2", 2, 391, 390597870),
        ("rs-03-p2", 2, 828, 613089629),
        ("rs-04-p3", 4, 151, 549358279),
        ("rs-05-p3", 1, 553, 311363716),
        ("rs-06-p2", 3, 671, 700290895),
    ]


@pytest.mark.parametrize("peer", PEER_RUNS, ids=lambda peer: f"{peer.usage}-{peer.seed}")
def test_the_default_scheduler_leaves_the_start_that_was_published(peer: PeerRun) -> None:
    made = documents(Cell(32, 8, 4, round(100 * float(peer.usage))), peer.seed)
    assert tuple(running for _, running in made.pods_by_priority().values()) == peer.start


def test_the_start_breaks_no_rule_and_leaves_no_job_out() -> None:
    cell = Cell(8, 8, 2, 105)
    made = documents(cell, 1)
    instance = build_instance(made.snapshot, made.pending, load_model("tier-by-tier"))
    assert not check_standing(instance)
    assert sum(wanted for wanted, _ in made.pods_by_priority().values()) == 64
    assert len(made.jobs) == len(recipe(cell, 1).replica_sets)
    assert made.pending_pods() > 0


def test_what_is_pending_fits_nowhere_as_it_is() -> None:
    made = documents(Cell(8, 4, 4, 100), 2)
    left = {node.name: [int(str(node.allocatable["cpu"])[:-1]), 0] for node in made.snapshot.nodes}
    for node in made.snapshot.nodes:
        left[node.name][1] = int(node.allocatable["memory"])
    for job in made.jobs:
        requests = job.pod_sets[0].requests
        for place in job.pod_sets[0].assignments:
            left[place.node][0] -= place.count * int(str(requests["cpu"])[:-1])
            left[place.node][1] -= place.count * int(requests["memory"])
    assert min(min(both) for both in left.values()) >= 0
    for job in made.jobs:
        podset = job.pod_sets[0]
        if sum(place.count for place in podset.assignments) < podset.count:
            cpu, memory = int(str(podset.requests["cpu"])[:-1]), int(podset.requests["memory"])
            assert not [n for n, (c, m) in left.items() if c >= cpu and m >= memory]


def test_the_grid_has_a_case_for_each_cell_and_seed() -> None:
    listed = cases((4, 8), (4,), (1, 2), (95, 100), (1, 2, 3))
    assert len({(case.instance, case.seed) for case in listed}) == 2 * 2 * 2 * 3
    assert listed[0].parameters == {"nodes": "4", "pods": "4", "priorities": "1", "usage": "0.95"}
