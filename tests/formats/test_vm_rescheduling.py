"""The VM rescheduling format: NUMA zones, clusters, and the published state of its snapshot."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.vm_rescheduling import is_vm_rescheduling, read_vm_rescheduling
from kantopt.schema.consistency import check_snapshot
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot


def zone(index: int, free: float) -> dict[str, Any]:
    return {
        "node": index,
        "total_cpu": 44,
        "free_cpu": free,
        "memory_huge_total_mb": 4096.0,
        "memory_huge_free_mb": 1.0,
    }


def vm(name: str, host: str, *shares: tuple[int, int]) -> dict[str, Any]:
    numa = [{"node": index, "cpu": cpu, "mem_mb": 1024.0} for index, cpu in shares]
    return {"instance_id": name, "host_id": host, "numa": numa, "allow_migration": True}


DATA: dict[str, Any] = {
    "cluster_list": [
        {
            "cluster_name": "east",
            "host_info": [
                {
                    "node_id": "pm0",
                    "status": "ACTIVE",
                    "numa": [zone(0, 9), zone(1, 9)],
                    "rack_id": 2,
                },
                {"node_id": "pm1", "status": "DOWN", "numa": [zone(0, 44), zone(1, 44)]},
            ],
            "vm_instance": [vm("small", "pm0", (1, 8)), vm("wide", "pm0", (0, 16), (1, 16))],
            "other_requirement": {"deployment_set": []},
        }
    ],
    "vm_type_list": [],
}


def read(data: dict[str, Any]) -> ClusterSnapshot:
    snapshot, _, _ = read_vm_rescheduling(data, file="vms.json")
    assert check_snapshot(snapshot, "vms.json") == []
    return snapshot


def free_slots(snapshot: ClusterSnapshot, cores: int) -> tuple[int, int]:
    """Free slots of so many cores and free cores in all, over the zones of usable machines."""
    free = {
        (node.name, index): to_base("cpu", group.capacity["cpu"]) // 1000
        for node in snapshot.nodes
        if not node.unschedulable
        for group in node.devices
        for index in range(group.count)
    }
    for job in snapshot.jobs:
        for place in job.pod_sets[0].assignments:
            for index in place.devices:
                taken = job.pod_sets[0].devices[0].requests["cpu"]
                free[place.node, index] -= to_base("cpu", taken) // 1000
    return sum(left // cores for left in free.values()), sum(free.values())


def test_a_vm_takes_one_zone_or_half_of_itself_from_each_of_two() -> None:
    snapshot = read(DATA)
    machine = snapshot.nodes[0]
    assert machine.labels == {"cluster": "east", "rack": "2"}
    assert (machine.devices[0].count, machine.devices[0].capacity) == (
        2,
        {"cpu": 44, "memory": "4Gi"},
    )
    small, wide = snapshot.jobs
    assert small.pod_sets[0].assignments[0].devices == (1,)
    assert wide.pod_sets[0].devices[0].count == 2
    assert wide.pod_sets[0].devices[0].requests == {"cpu": 16, "memory": "1Gi"}
    assert (wide.move_mode, wide.preemptible, wide.movable) == ("live", False, True)


def test_what_a_file_calls_free_is_not_believed() -> None:
    # Zones of 44 less 16 and 24: the file says 9 each.
    assert free_slots(read(DATA), 16) == (2, 28 + 20)


def test_machines_that_are_not_active_take_no_vms() -> None:
    assert [node.unschedulable for node in read(DATA).nodes] == [False, True]


def test_a_deployment_set_keeps_its_vms_on_different_machines() -> None:
    data = copy.deepcopy(DATA)
    data["cluster_list"][0]["other_requirement"]["deployment_set"] = [["small", "wide"]]
    podset = read(data).jobs[0].pod_sets[0]
    assert podset.pod_anti_affinity[0].topology_key == "kubernetes.io/hostname"
    assert podset.labels == podset.pod_anti_affinity[0].label_selector.match_labels


def test_vms_without_machine_are_pending_and_some_may_not_move() -> None:
    data = copy.deepcopy(DATA)
    data["cluster_list"][0]["vm_instance"][0]["allow_migration"] = False
    data["cluster_list"][0]["vm_instance"][1]["host_id"] = ""
    snapshot, pending, _ = read_vm_rescheduling(data, file="vms.json")
    assert [(job.name, job.movable) for job in snapshot.jobs] == [("small", False)]
    assert [job.name for job in pending.jobs] == ["wide"]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("vm_instance", 0, "host_id"), "pm9", r"vm_instance\[0\].host_id.*a machine"),
        (("vm_instance", 0, "numa", 0, "node"), 5, "different zones below 2"),
        (("vm_instance", 0, "numa"), [], "at least one"),
        (("vm_instance", 1, "numa", 0, "cpu"), 8, "the same cpu and mem_mb"),
        (("vm_instance", 0, "numa", 0, "mem_mb"), "1", "an amount of MiB"),
        (("vm_instance", 0, "numa", 0, "mem_mb"), 0.5, "a whole number of MiB"),
        (("vm_instance", 1, "instance_id"), "small", "each VM once"),
        (("host_info", 1, "node_id"), "pm0", "each machine once"),
        (("host_info", 0, "numa", 0, "node"), 3, "zones numbered"),
        (("other_requirement", "deployment_set"), {}, "a list"),
        (("other_requirement", "deployment_set"), [7], "a list of lists"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(path: Any, value: Any, words: str) -> None:
    data = copy.deepcopy(DATA)
    place: Any = data["cluster_list"][0]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(BadDataError, match=words):
        read_vm_rescheduling(data, file="vms.json")


def test_the_format_is_told_by_its_list_of_clusters() -> None:
    assert is_vm_rescheduling(DATA)
    assert not is_vm_rescheduling({"kind": "List"})
    with pytest.raises(BadDataError, match="cluster_list: found nothing"):
        read_vm_rescheduling({"kind": "List"}, file="vms.json")


@pytest.mark.data
def test_the_published_snapshot_starts_with_two_slots_and_its_fragment_rate() -> None:
    if "KANTOPT_DATA" not in os.environ:
        pytest.skip("needs the VM snapshot: KANTOPT_DATA is not set")
    folder = Path(os.environ["KANTOPT_DATA"]) / "vm_rescheduling"
    snapshot = read(json.loads((folder / "reset_vm_pm_id_clear2.json").read_text()))
    assert (len(snapshot.nodes), len(snapshot.jobs)) == (279, 2089)
    slots, free = free_slots(snapshot, 16)
    assert slots == 2
    # FR16, the share of the free cores that no slot of 16 can use, is published as 0.9770.
    assert round(10_000 * (free - 16 * slots) / free) == 9770
