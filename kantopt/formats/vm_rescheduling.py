"""The VM rescheduling format: machines of NUMA zones and virtual machines on one or two of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kantopt.errors import BadDataError, Problem
from kantopt.formats.imported import cluster_of
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.base import LabelSelector
from kantopt.schema.jobs import (
    Assignment,
    DeviceRequest,
    Job,
    JobList,
    PodAntiAffinityTerm,
    PodSet,
)
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import (
    HOSTNAME,
    ClusterSnapshot,
    Node,
    NodeDevices,
    Topology,
    TopologyLevel,
)

SET_LABEL = "deployment-set-"
"""Label of VMs that must not share a machine; the number of the set follows."""

_MIB = 2**20


def is_vm_rescheduling(data: dict[str, Any]) -> bool:
    """Whether a JSON document is of this format."""
    return isinstance(data.get("cluster_list"), list)


def read_vm_rescheduling(
    data: dict[str, Any], *, file: str
) -> tuple[ClusterSnapshot, JobList, tuple[str, ...]]:
    """Read machines and virtual machines; free amounts are worked out anew, never read.

    Each VM is a job of one pod that takes one device (NUMA zone) or half of its request from each
    of two. The clusters of the file and their racks become topology levels.

    Returns
    -------
    snapshot, pending, notes
        VMs without a machine are pending.

    Raises
    ------
    BadDataError
        With file and path of every field that has the wrong type or names what is not there.
    """
    problems: list[Problem] = []
    notes = Notes()
    reader = _Reader(notes)
    root = View(data, file, (), problems)
    if not is_vm_rescheduling(data):
        root.problem("cluster_list", "a list of clusters, as VM rescheduling files have it")
    for cluster in root.list("cluster_list"):
        reader.read(cluster)
    for item in root.list("vm_type_list"):
        if item.integer("expected_newly_created_num", 0):
            notes.add("types of VMs expected later are left out", item.text("vm_type"))
    if "general_requirement" in root:
        notes.add("limits of time and migrations (general_requirement) belong into the model")
    if problems:
        raise BadDataError(problems)
    levels = (
        TopologyLevel(name="cluster", node_label="cluster"),
        TopologyLevel(name="rack", node_label="rack"),
    )
    nodes, jobs = reader.nodes.values(), reader.jobs.values()
    documents = cluster_of("vm-rescheduling", nodes, jobs, Topology(levels=levels))
    return (*documents, notes.lines())


class _Reader:
    """Machines and VMs read so far, over all clusters."""

    def __init__(self, notes: Notes) -> None:
        self.nodes: dict[str, Node] = {}
        self.jobs: dict[str, Job] = {}
        self._notes = notes
        self._sets = 0

    def read(self, cluster: View) -> None:
        """Read one cluster."""
        name = cluster.text("cluster_name")
        for host in cluster.list("host_info"):
            node = _node(host, name)
            if self.nodes.setdefault(node.name, node) is not node:
                host.problem("node_id", "each machine once")
        apart: dict[str, list[str]] = {}
        for members in _deployment_sets(cluster.at("other_requirement")):
            self._sets += 1
            for member in members:
                apart.setdefault(member, []).append(f"{SET_LABEL}{self._sets}")
        for vm in cluster.list("vm_instance"):
            job = self._job(vm, apart.pop(vm.text("instance_id"), []))
            if self.jobs.setdefault(job.name, job) is not job:
                vm.problem("instance_id", "each VM once")
        for member in sorted(apart):
            self._notes.add("members of deployment sets that are no VMs are left out", member)

    def _job(self, vm: View, sets: list[str]) -> Job:
        zones = list(vm.list("numa"))
        shares = [
            {
                "cpu": from_base("cpu", zone.amount("cpu", "cpu") or 0),
                "memory": from_base("memory", _mebibytes(zone, "mem_mb")),
            }
            for zone in zones
        ]
        if not zones or any(share != shares[0] for share in shares):
            vm.problem("numa", "zones with the same cpu and mem_mb each, at least one")
            shares = [{}]
        movable = vm.raw.get("allow_migration", True)
        if not isinstance(movable, bool):
            vm.problem("allow_migration", "true or false")
            movable = True
        podset = PodSet(
            name="vm",
            count=1,
            labels=dict.fromkeys(sets, "member"),
            devices=(
                DeviceRequest(device_class="numa", count=max(1, len(zones)), requests=shares[0]),
            ),
            pod_anti_affinity=tuple(
                PodAntiAffinityTerm(
                    topology_key=HOSTNAME,
                    label_selector=LabelSelector(match_labels={label: "member"}),
                )
                for label in sets
            ),
            assignments=self._assignment(vm, zones),
        )
        return Job(
            name=vm.name("instance_id") or "?",
            preemptible=False,
            movable=movable,
            move_mode="live",
            pod_sets=(podset,),
        )

    def _assignment(self, vm: View, zones: list[View]) -> tuple[Assignment, ...]:
        host = vm.text("host_id")
        if not host:
            return ()
        if host not in self.nodes:
            vm.problem("host_id", "a machine of the same cluster")
            return ()
        indices = tuple(sorted(zone.integer("node", 0) or 0 for zone in zones))
        offered = sum(group.count for group in self.nodes[host].devices)
        if len(set(indices)) != len(indices) or any(index >= offered for index in indices):
            vm.problem("numa", f"different zones below {offered}")
        return (Assignment(node=host, devices=indices),)


def _node(host: View, cluster: str) -> Node:
    zones = sorted(host.list("numa"), key=lambda zone: zone.integer("node", 0) or 0)
    rack = host.raw.get("rack_id")
    labels = {"cluster": cluster} if cluster else {}
    if rack is not None:
        labels["rack"] = str(rack)
    if [zone.integer("node", 0) for zone in zones] != list(range(len(zones))):
        host.problem("numa", "zones numbered 0, 1, ...")
    devices: list[NodeDevices] = []
    for zone in zones:
        capacity = {
            "cpu": from_base("cpu", zone.amount("total_cpu", "cpu", up=False) or 0),
            "memory": from_base("memory", _mebibytes(zone, "memory_huge_total_mb")),
        }
        alike = bool(devices) and devices[-1].capacity == capacity
        count = devices.pop().count + 1 if alike else 1
        devices.append(NodeDevices(device_class="numa", count=count, capacity=capacity))
    return Node(
        name=host.name("node_id") or "?",
        labels=labels,
        devices=tuple(devices),
        unschedulable=host.text("status", "ACTIVE") != "ACTIVE",
    )


def _mebibytes(view: View, key: str) -> int:
    """Bytes in a field in MiB, which the files write as floats without a fraction."""
    value = view.raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**40:
        view.problem(key, "an amount of MiB")
        return 0
    if isinstance(value, float) and not value.is_integer():
        view.problem(key, "a whole number of MiB")
    return int(value) * _MIB


def _deployment_sets(requirement: View) -> Iterator[list[str]]:
    """VMs that must not share a machine: lists of names, bare or within a mapping."""
    sets = requirement.raw.get("deployment_set")
    if sets is not None and not isinstance(sets, list):
        requirement.problem("deployment_set", "a list")
        return
    for item in sets or ():
        lists = [item, *(item.values() if isinstance(item, dict) else ())]
        names = next((entry for entry in lists if isinstance(entry, list)), None)
        if names is None or not all(isinstance(name, str) for name in names):
            requirement.problem("deployment_set", "a list of lists of VM names")
            return
        yield names
