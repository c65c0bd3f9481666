"""Generated clusters of virtual machines: as fragmented as they say, and the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check_standing
from kantopt.verify.step import Loads
from scripts.bench import vm_rescheduling
from scripts.bench.case import Documents
from scripts.bench.vm_cluster import START, vm_cluster

MACHINES, VMS = 60, 232


@pytest.fixture(scope="module", params=[0])
def instance(request: pytest.FixtureRequest) -> Instance:
    made = Documents(vm_cluster(request.param, MACHINES, VMS))
    return build_instance(made.snapshot, (), vm_rescheduling.model("mnl-10")(made))


def test_the_fragment_rate_is_within_its_range(instance: Instance) -> None:
    cpu = instance.resources.index("cpu")
    loads = Loads.of(instance, instance.current)
    free = [
        device.capacity[cpu] - loads.device[node.index][d][cpu]
        for node in instance.nodes
        for d, device in enumerate(node.devices)
    ]
    slots = sum(amount // 16_000 for amount in free)
    assert START[0] <= 1 - 16_000 * slots / sum(free) <= START[1]
    missing = sum(free) // 16_000 - slots
    assert measure(instance, instance.current, tiers_of(instance)) == (missing, 0)


def test_every_vm_runs_where_there_is_room(instance: Instance) -> None:
    assert len(instance.podsets) == VMS
    assert all(podset.running for podset in instance.podsets)
    assert check_standing(instance) == []
    assert [len(domain.nodes) for domain in instance.topology.domains[0]] == [51, 9]


def test_the_same_seed_makes_the_same_cluster() -> None:
    assert vm_cluster(0, MACHINES, VMS) == vm_cluster(0, MACHINES, VMS)
    assert vm_cluster(0, MACHINES, VMS) != vm_cluster(1, MACHINES, VMS)


def test_the_suite_lists_clusters_by_size_with_and_without_a_wall() -> None:
    def names(*nodes: int) -> list[tuple[str, int]]:
        return [(case.instance, case.seed) for case in vm_rescheduling.cases(Path("x"), nodes)]

    assert names(279) == [("snapshot", 0), ("walled", 0)]
    assert names(1176)[:3] == [("generated", 0), ("generated-walled", 0), ("generated", 1)]
    assert len(names()) == 8
